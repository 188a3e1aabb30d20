package desktop

import (
	"context"

	"hob/channels"
	"hob/platform/speech"
)

// voice reads aloud; *speech.Voice is one.
type voice interface {
	Say(ctx context.Context, text, language string) error
}

// maxSpoken is how much of a notice is read aloud, in characters.
const maxSpoken = 300

// aloud has a notice read aloud, where the owner wants that: what Hob tells by
// itself, and neither answers nor questions. One that comes while several wait is
// only shown.
func (c *Channel) aloud(d channels.Delivery) {
	if c.voice == nil || d.Kind != channels.Notice {
		return
	}
	text := []rune(d.Text)
	select {
	case c.speak <- string(text[:min(len(text), maxSpoken)]):
	default:
	}
}

// read reads what waits until ctx ends, and no longer.
func (c *Channel) read(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case text := <-c.speak:
			if err := c.voice.Say(ctx, text, ""); err != nil && ctx.Err() == nil {
				c.log.Warn("reading a notification aloud failed", "err", err)
			}
		}
	}
}

func newVoice(getenv func(string) string) voice { return speech.New(speech.Options{Getenv: getenv}) }
