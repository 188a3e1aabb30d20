package app

import (
	"io"
	"path/filepath"
	"time"

	"hob/autonomy/service"
	"hob/channels"
	"hob/platform/host/system"
)

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

// receivedFilesDir is the folder in which files of messages are stored.
func (d *App) receivedFilesDir() string {
	if drop, err := system.Expand(d.opt.Config.Files.Drop); err == nil && drop != "" {
		return drop
	}
	return filepath.Join(d.opt.Paths.Data, "files")
}

// newSender returns the sender of messages and files of tools.
func (d *App) newSender() *service.Sender {
	return service.NewSender(service.SenderOptions{
		Store: d.store, Bus: d.bus, Channels: d.channels, Pairings: d.pairings, Spool: d.spool, Sends: d.isLongRunning(), Zone: d.zone,
		OpenFile: func(path string) (string, bool, io.ReadCloser, error) {
			doc, r, err := d.files.OpenDocument(path, channels.MaxOutgoingFile)
			return doc.Path, doc.Hidden, r, err
		},
		Delay: func(channel string) time.Duration {
			if s, ok := d.opt.Config.Channel(channel); ok {
				return s.SendDelay.Duration
			}
			return d.opt.Config.Autonomy.SendDelay.Duration
		},
	})
}
