"""What people see: words, tables, colours, HTML and plots, made from the values below."""
