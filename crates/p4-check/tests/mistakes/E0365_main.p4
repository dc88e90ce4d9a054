extern Meter { Meter(); }
Meter() main;
