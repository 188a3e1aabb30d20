package osrun

// What tests look at.
var Plain = plain
