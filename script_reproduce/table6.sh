#!/usr/bin/env bash
# Table 6, ENZYMES, DD, PROTEINS: 10 folds, the two seeds of the paper's two columns.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seeds 41 95
row T6-ENZYMES-MLP-L4
row T6-ENZYMES-GCN-L4
row T6-ENZYMES-GraphSage-L4
row T6-ENZYMES-MoNet-L4
row T6-ENZYMES-GAT-L4
row T6-ENZYMES-GatedGCN-L4
row T6-ENZYMES-GIN-L4
row T6-ENZYMES-RingGNN-L2
row T6-ENZYMES-3WLGNN-L3
row T6-DD-MLP-L4
row T6-DD-GCN-L4
row T6-DD-GraphSage-L4
row T6-DD-MoNet-L4
row T6-DD-GAT-L4
row T6-DD-GatedGCN-L4
row T6-DD-GIN-L4
row T6-DD-RingGNN-L2
row T6-DD-3WLGNN-L3
row T6-PROTEINS-MLP-L4
row T6-PROTEINS-GCN-L4
row T6-PROTEINS-GraphSage-L4
row T6-PROTEINS-MoNet-L4
row T6-PROTEINS-GAT-L4
row T6-PROTEINS-GatedGCN-L4
row T6-PROTEINS-GIN-L4
row T6-PROTEINS-RingGNN-L2
row T6-PROTEINS-3WLGNN-L3

run_table table6
