module sno

go 1.19
