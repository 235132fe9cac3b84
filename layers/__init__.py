"""One file per layer, each the equation it implements: no state on the graph, no datasets, no config keys.

Benchmarking GNNs (equations of its appendix), in the order to read them:

    gcn_layer         (12)-(13)               the mean of the neighbours
    update            (29), (73)              the end that the layers share: normalisation, activation, residual connection, dropout
    graph_norm        (73)                    graph size normalisation
    gin_layer         (27)-(28)               sums, and an MLP
    graphsage_layer   (14)-(17), (68)-(72)    a node beside its neighbours
    monet_layer       (21)-(23)               Gaussian kernels of the degrees
    gat_layer         (18)-(20), (61)-(67)    attention
    gatedgcn_layer    (24)-(26), (55)-(60)    a gate per edge and channel
    mlp_layer         section 4               no neighbours
    mlp_readout       (32)-(35)               the prediction from one vector
    ring_layer        (43)-(44)               RingGNN: equivariant maps of n x n matrices
    three_wl_layer    (40)-(42)               3WLGNN: products of n x n matrices

BREC:

    ppgn_layer          PPGN                closed_gin_layer    NGNN, DE+NGNN, DS-GNN, DropGNN
    deep_sets_layer     DS-GNN              dss_layer           DSS-GNN
    sun_layer           SUN                 sswl_layer          SSWL_P
    gnn_ak_layer        GNN-AK              kp_layer            KP-GNN
    gated_graph_layer   I2-GNN              gsn_layer           GSN
    delta_lgnn_layer    delta-2-LGNN        kc_set_layer        KC-SetGNN
    graphormer_layer    Graphormer          set2set             a read-out
    open_gcn_layer, weighted_gin_layer, edge_selection          OSAN

A Fair Comparison:

    closed_sage_layer   GraphSAGE with one map for a node and its neighbours
    diffpool_layer      DiffPool            ecc_layer           ECC
    dgcnn_layer         DGCNN               sortpool            its read-out

Taxonomy of Benchmarks:

    closed_gcn_layer    GCN with self-loops bare_gin_layer      GIN without inner normalisation
    neighbourhood       along edges, or in complete graphs without any
    sparse_rows         products with features that are mostly zero

Long Range Graph Benchmark, and its retuned rows:

    sym_gcn_layer       GCN                 gcnii_layer         GCNII
    gine_layer          GINE                gatedgcn_layer      GatedGCN, as above
    attention           of all nodes of a graph to each other
    transformer_layer   Transformer         san_layer           SAN
    gps_layer           GPS: message passing and attention side by side

What they are written in:

    ops                 sums, means and maxima over the neighbours
    fused               the same in fewer steps, for a CPU; called beside the plain formula that it equals
    fused_attention     the same for attention inside graphs
    fused_pairs         the same for 3WLGNN
    kernels, matmul     its compiled loops, its dense products
    linear              nn.Linear by these products
    chain               modules one after another, a ReLU in one step with what comes before it
    two_maps            W2 ReLU(norm(W1 x))
    per_graph           what follows from the edges of a graph alone, worked out once
    subgraphs           many subgraphs of each graph on one copy of its edges
    few_rows            rows of subgraphs of which many are equal
    dense, padding      graphs as n x n matrices in one tensor
"""

import process  # noqa: F401 - before torch is loaded
