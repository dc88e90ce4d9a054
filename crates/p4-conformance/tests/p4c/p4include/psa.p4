control Pipe(inout bit<8> x);
package Psa(Pipe p);
