module example.com/goplain

go 1.26
