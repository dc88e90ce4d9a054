enum bit<8> proto { igmp = 2, udp }
enum color { red = 1, green }
