package imessage

// What tests look at.
var (
	Scripts     = scripts
	AfterPrefix = afterPrefix
	Within      = within
	FileName    = fileName
)
