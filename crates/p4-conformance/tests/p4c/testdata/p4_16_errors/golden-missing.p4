const bit<8> a = b;
