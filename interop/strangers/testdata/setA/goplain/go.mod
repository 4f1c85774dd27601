module stations

go 1.24
