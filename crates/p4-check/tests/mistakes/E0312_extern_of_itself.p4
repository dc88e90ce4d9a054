extern Tree {
    Tree();
    void attach(Tree child);
}
