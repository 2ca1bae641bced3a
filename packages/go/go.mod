module sno

go 1.21
