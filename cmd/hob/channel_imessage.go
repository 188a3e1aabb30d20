package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"hob/platform/host/permission"
	"hob/platform/pim/messages/chatdb"
)

// withMessages adds the flag --db to "hob channel test": "hob channel test imessage --db FILE"
// lists the messages of a Messages database, on any system and without a daemon.
func (a *cli) withMessages(cmd *cobra.Command) *cobra.Command {
	var file string
	rest := cmd.RunE
	cmd.Flags().StringVar(&file, "db", "", "for imessage: list the messages of this chat.db")
	list := a.runCommand(func(c *cobra.Command, args []string) error {
		switch {
		case len(args) != 1 || args[0] != "imessage":
			return usageErrorf("--db works only with: hob channel test imessage --db FILE")
		case file == "":
			return usageErrorf("--db is empty; name a chat.db")
		}
		return a.listMessages(c, file)
	})
	cmd.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("db") {
			return list(c, args)
		}
		return rest(c, args)
	}
	return cmd
}

// messageRow is one listed message.
type messageRow struct {
	RowID       int64         `json:"rowid"`
	GUID        string        `json:"guid"`
	Chat        string        `json:"chat"`
	Sender      string        `json:"sender"`
	FromMe      bool          `json:"from_me"`
	At          string        `json:"at"`
	Text        string        `json:"text"`
	Kind        chatdb.Kind   `json:"kind"`
	ReplyTo     string        `json:"reply_to"`
	Attachments []messageFile `json:"attachments"`
	Reaction    string        `json:"reaction,omitempty"`
	Removed     bool          `json:"removed,omitempty"`
	Approximate bool          `json:"approximate,omitempty"`
	Undecodable bool          `json:"undecodable,omitempty"`
}

type messageFile struct {
	Name string `json:"name"`
	Path string `json:"path"`
	MIME string `json:"mime"`
	Size int64  `json:"size"`
}

func rowOf(m chatdb.Message) messageRow {
	r := messageRow{
		RowID: m.RowID, GUID: m.GUID, Sender: m.Sender, FromMe: m.FromMe, At: m.At.UTC().Format(time.RFC3339), Text: m.Text, Kind: m.Kind, ReplyTo: m.ReplyTo,
		Attachments: []messageFile{}, Reaction: m.Reaction, Removed: m.Removed, Approximate: m.Approximate, Undecodable: m.Undecodable,
	}
	if m.Chat != nil {
		r.Chat = m.Chat.GUID
	}
	for _, f := range m.Files {
		r.Attachments = append(r.Attachments, messageFile{Name: f.Name, Path: f.Path, MIME: f.MIME, Size: f.Size})
	}
	return r
}

// messagesAtOnce is the maximum number of messages in memory.
const messagesAtOnce = 5000

// listMessages prints the messages of a database, as they are read.
func (a *cli) listMessages(c *cobra.Command, file string) error {
	db, err := chatdb.Open(c.Context(), file, "")
	if errors.Is(err, chatdb.ErrNoAccess) && runtime.GOOS == "darwin" {
		err = fmt.Errorf("%w; enable %s in System Settings, Privacy & Security, Full Disk Access, restart it, and run this command again", err, permission.Responsible(os.Getenv))
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	defer func() { _ = db.Close() }()
	between := "["
	for after := int64(0); ; {
		list, next, err := db.Messages(c.Context(), after, messagesAtOnce)
		if err != nil {
			return err
		}
		for _, m := range list {
			if !a.asJSON {
				a.printMessage(m)
				continue
			}
			b, err := json.Marshal(rowOf(m))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s\n  %s", between, b)
			between = ","
		}
		if next == after {
			break
		}
		after = next
	}
	switch {
	case a.asJSON && between == "[":
		fmt.Fprintln(a.out, "[]")
	case a.asJSON:
		fmt.Fprintln(a.out, "\n]")
	}
	return nil
}

// printMessage prints a message in a line.
func (a *cli) printMessage(m chatdb.Message) {
	who := m.Sender
	if m.FromMe {
		who = "me"
	}
	chat := ""
	if m.Chat != nil && m.Chat.Group {
		chat = " in " + m.Chat.Key()
	} else if m.Chat != nil && m.FromMe {
		chat = " to " + m.Chat.Key()
	}
	kind := ""
	if m.Kind != chatdb.Plain {
		kind = " (" + string(m.Kind) + ")"
	}
	text := m.Text
	if m.Undecodable {
		text = "[unreadable]"
	}
	for _, f := range m.Files {
		text += " [" + f.Name + "]"
	}
	fmt.Fprintf(a.out, "%d  %s  %s%s%s: %s\n", m.RowID, m.At.In(a.userZone()).Format("2006-01-02 15:04"), sanitizePrintable(who), sanitizePrintable(chat), kind, sanitizePrintable(text))
}
