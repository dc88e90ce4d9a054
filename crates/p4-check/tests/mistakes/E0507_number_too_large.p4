const int a = 1 << 16000;
const int b = a * a * a * a * a;
const int c = b * b;
