parser start { return ingress; }
