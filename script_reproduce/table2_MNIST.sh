#!/usr/bin/env bash
# Table 2, MNIST: graph classification, 4 seeds a row.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95 12 35
row T2-MNIST-MLP-L4
row T2-MNIST-GCN-L4
row T2-MNIST-GraphSage-L4
row T2-MNIST-MoNet-L4
row T2-MNIST-GAT-L4
row T2-MNIST-GatedGCN-L4
row T2-MNIST-GIN-L4
row T2-MNIST-RingGNN-L2-100k
row T2-MNIST-RingGNN-L2-500k
row T2-MNIST-RingGNN-L8-500k
row T2-MNIST-3WLGNN-L3-100k
row T2-MNIST-3WLGNN-L3-500k
row T2-MNIST-3WLGNN-L8-500k

run_table table2_MNIST
