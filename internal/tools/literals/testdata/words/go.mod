module words

go 1.25
