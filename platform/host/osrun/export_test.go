package osrun

// Exports for tests.
var Plain = cleanStderr
