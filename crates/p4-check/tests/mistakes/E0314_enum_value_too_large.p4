enum bit<2> level { low = 1, high = 4 }
enum int<4> sign { minus = -8, plus = 8 }
