package bus

// Queries whose plans are tested.
const (
	Heads     = heads
	ChatHeads = chatHeads
)
