package power

import "context"

// Event is what the machine does.
type Event bool

// The events.
const (
	Sleeps Event = true
	Wakes  Event = false
)

// Watch tells on each sleep and each waking until ctx ends. It returns nil then, and
// before that an error where this system does not tell: that is for the record, as
// the wall clock tells as well. on is called from one goroutine at a time and must
// return at once.
func Watch(ctx context.Context, o Options, on func(Event)) error {
	return watch(ctx, o.filled(), on)
}
