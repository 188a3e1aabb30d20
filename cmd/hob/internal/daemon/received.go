package daemon

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/document"
	"hob/platform/system"
)

// receivedFolder is where files of messages go within the owner's drop folder.
const receivedFolder = "Received"

// choices are what the owner has chosen for his channels.
func (d *Daemon) choices() map[string]channels.Choice {
	out := map[string]channels.Choice{}
	for _, s := range d.opt.Config.Channels {
		c := channels.Choice{Unmentioned: !s.Mention, Whole: !s.Stream}
		if s.Settle != nil {
			c.Settle = &s.Settle.Duration
		}
		out[s.Name] = c
	}
	return out
}

// received is where files of messages go, and how they are read.
func (d *Daemon) received() channels.Files {
	return channels.Files{
		Keep: channels.Received(d.dropped, receivedFolder),
		Read: d.readReceived,
	}
}

// dropped is the folder within which files of messages are kept.
func (d *Daemon) dropped() string {
	if drop, err := system.Expand(d.opt.Config.Files.Drop); err == nil && drop != "" {
		return drop
	}
	return filepath.Join(d.opt.Paths.Data, "files")
}

// maxReceived limits the text extracted from a received file, in bytes; the message contains
// less.
const maxReceived = 64 << 10

func (d *Daemon) readReceived(ctx context.Context, name string, data []byte) (string, error) {
	f, err := document.Parse(ctx, name, data, document.Limits{Text: maxReceived, Parts: 5, Time: 15 * time.Second, Helper: d.opt.Reader})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, doc := range f.Documents {
		for _, s := range doc.Sections {
			for _, text := range []string{strings.Join(s.Heading, " / "), cmp.Or(s.Text, s.Header), strings.Join(s.Rows, "\n")} {
				if text = strings.TrimSpace(text); text != "" && b.Len() < maxReceived {
					b.WriteString(text + "\n")
				}
			}
		}
	}
	return b.String(), nil
}

// jumped handles a wake from sleep or a clock change.
func (d *Daemon) jumped(by time.Duration) {
	if by > 0 {
		d.channels.Woke()
	}
}
