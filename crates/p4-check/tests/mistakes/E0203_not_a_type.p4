const bit<8> width = 8;
control c(inout width x) { apply { } }
