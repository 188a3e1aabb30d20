package imessage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"hob/channels"
	"hob/platform/host/permission"
	"hob/platform/pim/messages/chatdb"
)

// archiveBatch is the maximum number of archived messages held in memory.
const archiveBatch = 5000

// ReadArchive implements channels.ArchiveReader for the Messages database.
func (Driver) ReadArchive(ctx context.Context, file string, each func(channels.ArchivedMessage) error) error {
	db, err := chatdb.Open(ctx, file, "")
	if errors.Is(err, chatdb.ErrNoAccess) && runtime.GOOS == "darwin" {
		err = fmt.Errorf("%w; enable %s in System Settings, Privacy & Security, Full Disk Access, restart it, and run this command again", err, permission.Responsible(os.Getenv))
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	defer func() { _ = db.Close() }()
	for after := int64(0); ; {
		list, next, err := db.Messages(ctx, after, archiveBatch)
		if err != nil {
			return err
		}
		for _, m := range list {
			a, err := newArchivedMessage(m)
			if err == nil {
				err = each(a)
			}
			if err != nil {
				return err
			}
		}
		if next == after {
			return nil
		}
		after = next
	}
}

// archiveRow is the JSON form of an archived message.
type archiveRow struct {
	RowID       int64         `json:"rowid"`
	GUID        string        `json:"guid"`
	Chat        string        `json:"chat"`
	Sender      string        `json:"sender"`
	FromMe      bool          `json:"from_me"`
	At          string        `json:"at"`
	Text        string        `json:"text"`
	Kind        chatdb.Kind   `json:"kind"`
	ReplyTo     string        `json:"reply_to"`
	Attachments []archiveFile `json:"attachments"`
	Reaction    string        `json:"reaction,omitempty"`
	Removed     bool          `json:"removed,omitempty"`
	Approximate bool          `json:"approximate,omitempty"`
	Undecodable bool          `json:"undecodable,omitempty"`
}

type archiveFile struct {
	Name string `json:"name"`
	Path string `json:"path"`
	MIME string `json:"mime"`
	Size int64  `json:"size"`
}

func newArchiveRow(m chatdb.Message) archiveRow {
	r := archiveRow{
		RowID: m.RowID, GUID: m.GUID, Sender: m.Sender, FromMe: m.FromMe, At: m.At.UTC().Format(time.RFC3339), Text: m.Text, Kind: m.Kind, ReplyTo: m.ReplyTo,
		Attachments: []archiveFile{}, Reaction: m.Reaction, Removed: m.Removed, Approximate: m.Approximate, Undecodable: m.Undecodable,
	}
	if m.Chat != nil {
		r.Chat = m.Chat.GUID
	}
	for _, f := range m.Files {
		r.Attachments = append(r.Attachments, archiveFile{Name: f.Name, Path: f.Path, MIME: f.MIME, Size: f.Size})
	}
	return r
}

func newArchivedMessage(m chatdb.Message) (channels.ArchivedMessage, error) {
	b, err := json.Marshal(newArchiveRow(m))
	a := channels.ArchivedMessage{ID: strconv.FormatInt(m.RowID, 10), At: m.At, Who: m.Sender, Text: m.Text, JSON: b}
	if m.FromMe {
		a.Who = "me"
	}
	switch {
	case m.Chat != nil && m.Chat.Group:
		a.Chat = " in " + m.Chat.Key()
	case m.Chat != nil && m.FromMe:
		a.Chat = " to " + m.Chat.Key()
	}
	if m.Kind != chatdb.Plain {
		a.Kind = string(m.Kind)
	}
	if m.Undecodable {
		a.Text = "[unreadable]"
	}
	for _, f := range m.Files {
		a.Text += " [" + f.Name + "]"
	}
	return a, err
}
