package app

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/host/system"
	"hob/platform/text/document"
)

// receivedFolder is where files of messages go within the owner's drop folder.
const receivedFolder = "Received"

// channelChoices returns the owner's settings for the channels.
func (d *App) channelChoices() map[string]channels.ChannelOverride {
	out := map[string]channels.ChannelOverride{}
	for _, s := range d.opt.Config.Channels {
		c := channels.ChannelOverride{Unmentioned: !s.Mention, Whole: !s.Stream}
		if s.Debounce != nil {
			c.Settle = &s.Debounce.Duration
		}
		out[s.Name] = c
	}
	return out
}

// receivedFiles is where files of messages go, and how they are read.
func (d *App) receivedFiles() channels.Files {
	return channels.Files{
		Keep: channels.OpenReceivedFolder(d.receivedFilesDir, receivedFolder),
		Read: d.readReceived,
	}
}

// receivedFilesDir is the folder within which files of messages are kept.
func (d *App) receivedFilesDir() string {
	if drop, err := system.Expand(d.opt.Config.Files.Drop); err == nil && drop != "" {
		return drop
	}
	return filepath.Join(d.opt.Paths.Data, "files")
}

// maxReceived limits the text extracted from a received file, in bytes; the message contains
// less.
const maxReceived = 64 << 10

func (d *App) readReceived(ctx context.Context, name string, data []byte) (string, error) {
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

// handleClockJump handles a wake from sleep or a clock change.
func (d *App) handleClockJump(by time.Duration) {
	if by > 0 {
		d.channels.HandleWake()
	}
}
