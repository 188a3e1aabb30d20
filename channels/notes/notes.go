// Package notes implements a channel on a folder of notes ("Hob"). A note whose title or first line
// begins with "#hob " is a message, and Hob's messages become new notes in the folder. The folder
// belongs to the Notes app or contains Markdown files (platform/pim); platform/pim/listfeed polls
// it.
//
// A note is received once; later changes are ignored. A folder does not show who writes, so it must
// be paired: the owner writes the code into it ("#hob 2345A-BCDEF"). From then on such notes count
// as the owner's. Notes that the Notes app reports as shared are ignored. For Markdown files,
// sharing is unknown, so a question can be answered there only if the owner has declared the folder
// private (private = true).
package notes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/pim"
	"hob/platform/pim/listfeed"
	"hob/platform/text/markup"
)

// Name is the name of the channel and of its configuration section.
const Name = "notes"

// Config is the section [channels.notes]. The manager reads the key "enabled".
type Config struct {
	// Folder is the name of the folder (default "Hob").
	Folder string `toml:"folder"`
	// Account selects the location of the folder: "apple", "folder" (the folder in [pim]
	// notes_folder), or "" for any folder with that name.
	Account string `toml:"account"`
	// Private is set if the owner declares that no one else can write to the folder. Questions can
	// then be answered there.
	Private bool `toml:"private"`
}

const (
	prefix = "#hob"
	most   = 1000 // maximum number of notes that are read
)

// Driver creates the channel from its configuration.
type Driver struct{}

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	return channels.Make(decode, deps, New)
}

// Options holds test settings. The zero value is used in production.
type Options struct {
	Every  time.Duration // poll interval (1 minute)
	Settle time.Duration // how long a note must be unchanged before it is accepted (20 s)
}

// Channel is one folder of notes.
type Channel struct {
	conf Config
	spot listfeed.Location[pim.Folders]
	log  *slog.Logger
}

// New validates the configuration. It reads nothing.
func New(c Config, deps channels.Deps, o Options) (*Channel, error) {
	c.Folder, c.Account = FolderOf(c), strings.TrimSpace(c.Account)
	if len([]rune(c.Folder)) > 100 || strings.ContainsAny(c.Folder, "\n\r") {
		return nil, errors.New("folder must be the name of one folder of notes, at most 100 characters")
	}
	ch := &Channel{conf: c, log: cmp.Or(deps.Log, slog.New(slog.DiscardHandler)), spot: listfeed.Location[pim.Folders]{
		Channel: Name, Kind: "folder", Name: c.Folder, Account: c.Account, Remedy: "set notes_folder in [pim] to a folder of Markdown files, or use a Mac",
		All: func() []pim.Folders { return listfeed.Only[pim.Folders](deps.Notes) }, // Outlook has only one notes folder
	}}
	ch.spot.Listen(listfeed.Options{
		Keep: deps.Keep, Log: ch.log, Every: cmp.Or(o.Every, time.Minute), Settle: cmp.Or(o.Settle, 20*time.Second),
	}, func(f pim.Folders) listfeed.Source { return noteSource{f, c.Folder} })
	return ch, nil
}

// FolderOf returns the configured folder.
func FolderOf(c Config) string { return cmp.Or(strings.Trim(strings.TrimSpace(c.Folder), "/"), "Hob") }

// Limits implements channels.Limiter.
func (*Channel) Limits() channels.Limits { return channels.Limits{MaxText: 50_000} }

// DescribeStatus implements channels.StatusDescriber.
func (c *Channel) DescribeStatus() string {
	return cmp.Or(c.spot.Poller.Last(), fmt.Sprintf("waiting for notes that begin with %s in the folder %q", prefix, c.conf.Folder))
}

// Test implements channels.Tester.
func (c *Channel) Test(ctx context.Context) (string, error) {
	return c.spot.Tell(func(p pim.Folders) (string, bool, error) {
		found, err := p.FindInFolder(ctx, c.conf.Folder, prefix, most)
		return fmt.Sprintf("%d notes contain %s", len(found), prefix), slices.ContainsFunc(found, func(n pim.Note) bool { return n.Shared }), err
	})
}

// noteSource adapts a notes app or a folder of files to the poller.
type noteSource struct {
	pim.Folders
	folder string
}

// Entries implements listfeed.Source. It returns the notes that begin with the prefix. A note keeps
// its identity when its text changes.
func (p noteSource) Entries(ctx context.Context) ([]listfeed.Entry, error) {
	found, err := p.FindInFolder(ctx, p.folder, prefix, most)
	var out []listfeed.Entry
	for _, n := range found {
		if _, asks := questionText(n); asks {
			out = append(out, p.noteEntry(n))
		}
	}
	return out, err
}

func (p noteSource) noteEntry(n pim.Note) listfeed.Entry {
	return listfeed.Entry{
		Ref: n.Ref, List: n.FolderID, Key: fmt.Sprintf("%x", listfeed.Digest("note", p.Name(), n.Ref)), State: n.Changed.UTC().Format(time.RFC3339Nano),
		Texts: []string{n.Title, n.Text}, At: n.Changed, Shared: n.Shared,
	}
}

// questionText returns the text of a note without the prefix.
func questionText(n pim.Note) (string, bool) {
	body := strings.TrimSpace(n.Text)
	first, rest, _ := strings.Cut(body, "\n")
	if after, ok := cutPrefix(n.Title); ok {
		if strings.TrimSpace(first) == strings.TrimSpace(n.Title) { // in the Notes app, the first line is the title
			body = rest
		}
		return strings.TrimSpace(after + "\n" + strings.TrimSpace(body)), true
	}
	if after, ok := cutPrefix(first); ok {
		return strings.TrimSpace(after + "\n" + rest), true
	}
	return "", false
}

// cutPrefix returns the text after the prefix.
func cutPrefix(line string) (string, bool) {
	line = strings.TrimSpace(line)
	if len(line) < len(prefix) || !strings.EqualFold(line[:len(prefix)], prefix) {
		return "", false
	}
	rest := line[len(prefix):]
	return strings.TrimSpace(rest), rest == "" || strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "\u00a0")
}

// Run implements channels.Channel. It polls the folder.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	return c.spot.Poller.Run(ctx, func(ctx context.Context, p listfeed.Source, x listfeed.Entry) (listfeed.Taken, error) {
		in := p.(noteSource) // all sources of this channel have this type
		whole, err := in.ReadNote(ctx, x.Ref)
		if err != nil { // the next poll may succeed
			c.log.Warn("reading a note failed", "place", p.Name(), "error", err)
			return listfeed.NotYet, ctx.Err()
		}
		now := in.noteEntry(whole)
		text, asks := questionText(whole)
		switch {
		case now.State != x.State || !asks || text == "": // the note is still being written
			return listfeed.NotYet, nil
		case now.Shared:
			return listfeed.Never, nil
		}
		if own, err := c.spot.Poller.Own(ctx, now); own || err != nil {
			return listfeed.Never, err
		}
		_, err = r.Receive(ctx, channels.Inbound{
			Chat: p.Name(), ChatName: c.conf.Folder, Sender: listfeed.SenderOf("folder", p, now, c.conf.Folder), SenderName: "the folder " + c.conf.Folder,
			Text: listfeed.Short(text), Key: x.Key, At: x.At, Unknown: !c.conf.Private,
		})
		if errors.Is(err, channels.ErrStranger) { // the folder is not paired
			return listfeed.Never, nil
		}
		return listfeed.Heard, err
	})
}

// Send implements channels.Channel. It creates a new note with a mark.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	switch d.Kind {
	case channels.Status: // users do not watch notes for progress
		return channels.Receipt{}, nil
	case channels.Send:
		return channels.Receipt{}, channels.Errorf(channels.Unsupported, "notes: the folder can only be used to write to you")
	case channels.Question, channels.Reply, channels.Notice:
	}
	said := markup.Plain(d.Markdown())
	ref, err := c.spot.Say(ctx, d.Chat, d.Kind == channels.Question, func(p pim.Folders, key listfeed.Key) (pim.Receipt, error) {
		// Hob's title and heading come first, so that the note does not begin with the message
		// prefix.
		return p.CreateNote(ctx, pim.Note{Title: "Re: " + listfeed.Title(said, maxTitle), Text: key.With(heading+"\n\n"+said, d.ID), Folder: c.conf.Folder})
	})
	return channels.Receipt{ID: ref}, classifyError(err)
}

// classifyError returns an error from Location.Say with its class.
func classifyError(err error) error {
	if err == nil {
		return nil
	}
	out := channels.Errorf(channels.Temporary, "%w", err)
	if out.MaybeSent = errors.Is(err, listfeed.ErrUncertain); listfeed.Lasting(err) {
		out.Class = channels.Permanent
	}
	return out
}

const (
	heading  = "Hob says:"
	maxTitle = 60
)

// Find implements channels.DeliveryFinder.
func (c *Channel) Find(ctx context.Context, d channels.Delivery) (channels.Receipt, bool, error) {
	ref, err := c.spot.Find(ctx, d.Chat, func(p pim.Folders, key listfeed.Key) (string, error) {
		found, err := p.FindInFolder(ctx, c.conf.Folder, key.Name(d.ID), 1)
		if len(found) > 0 {
			return found[0].Ref, nil
		}
		return "", err
	})
	return channels.Receipt{ID: ref}, ref != "", err
}
