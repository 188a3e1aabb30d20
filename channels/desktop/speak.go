package desktop

import (
	"context"

	"hob/channels"
	"hob/platform/host/speech"
)

// voice reads messages aloud. *speech.Voice implements it.
type voice interface {
	Say(ctx context.Context, text, language string) error
}

// maxSpoken is the maximum length in characters of text that is read aloud.
const maxSpoken = 300

// queueSpeech queues a notification to be read aloud, if the user enabled speech. Answers and
// questions are not read aloud. If several notifications are waiting, further ones are only shown.
func (c *Channel) queueSpeech(d channels.Delivery) {
	if c.voice == nil || d.Kind != channels.Notice {
		return
	}
	text := []rune(d.Text)
	select {
	case c.speak <- string(text[:min(len(text), maxSpoken)]):
	default:
	}
}

// readAloud reads queued notifications aloud until ctx ends.
func (c *Channel) readAloud(ctx context.Context) {
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
