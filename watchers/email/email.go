// Package email implements watchers for new email in a folder of one of the user's accounts,
// filtered by sender, recipient, subject and words.
//
// All watchers of a folder share one connection (box). The server announces new messages on it
// (IDLE), or the box polls the server. Each watcher has a cursor, which consists of the next UID
// and its UIDVALIDITY. The Message-ID identifies a signal. Thus no message is lost or reported
// twice if a server renumbers its messages: the watcher reads all messages since the last check
// again and skips the messages that it has reported.
//
// Only messages that arrive after the creation of the watcher are reported. The watcher does not
// change the mailbox: messages that it reads stay unread.
package email

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/store"
	"hob/platform/store/erase"
	setting "hob/platform/text/settings"
	"hob/watchers"
)

// Kind is the name of this kind of watcher.
const Kind = "email"

// tables: email_watches has one row per watcher with its start time and cursor; validity is 0
// before the first check. email_told contains digests of the ids of reported messages.
const tables = `CREATE TABLE email_watches (
	watcher TEXT PRIMARY KEY,
	since INTEGER NOT NULL,
	box TEXT NOT NULL DEFAULT '',
	validity INTEGER NOT NULL DEFAULT 0,
	next INTEGER NOT NULL DEFAULT 0,
	looked INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE email_told (
	watcher TEXT NOT NULL,
	mail BLOB NOT NULL,
	PRIMARY KEY (watcher, mail)
) WITHOUT ROWID;`

// Driver creates email watchers. They share the driver's hub.
type Driver struct{ hub *hub }

// New returns the driver.
func New() *Driver { return &Driver{hub: newHub()} }

// Describe implements watchers.Driver.
func (*Driver) Describe() watchers.Description {
	return watchers.Description{
		Kind: Kind, Subject: watchers.Mail, Options: "from?, to?, subject?, words? (lists), folder?, account?", Keywords: "mail email sender",
		Title: "Email", Form: []setting.Setting{
			{Key: "from", Kind: setting.Text, List: true, Optional: true, Title: "From", Help: `Names, addresses or domains.`},
			{Key: "subject", Kind: setting.Text, List: true, Optional: true, Title: "Words in the subject", Help: `Only mail with one of these words.`},
			{Key: "words", Kind: setting.Text, List: true, Optional: true, Title: "Words", Help: `Only mail with all of these words.`},
			{Key: "folder", Kind: setting.Text, Optional: true, Title: "Folder", Help: `Default: the inbox.`},
			{Key: "account", Kind: setting.Text, Optional: true, Title: "Account", Help: `Required if you have several.`},
		},
	}
}

// Migrations implements watchers.Driver.
func (*Driver) Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "watchers/email", Steps: []string{tables}}}
}

// New implements watchers.Driver.
func (d *Driver) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	f, err := parseFilter(spec.Config)
	if err != nil {
		return nil, err
	}
	a, err := deps.Account(f.Account, pim.IMAP)
	if err != nil {
		return nil, fmt.Errorf("email: %w", err)
	}
	return &watch{id: spec.ID, filter: f, account: a, deps: deps, hub: d.hub}, nil
}

// Begin implements watchers.StatefulDriver.
func (d *Driver) Begin(tx *store.Tx, spec watchers.Spec) error {
	if err := d.Forget(tx, spec.ID); err != nil {
		return err
	}
	// servers record the arrival time of a message with a resolution of 1 s
	since := time.Now().Truncate(time.Second)
	if _, err := tx.Exec("INSERT INTO email_watches (watcher, since) VALUES (?, ?)", spec.ID, store.Millis(since)); err != nil {
		return fmt.Errorf("email: start watcher: %w", err)
	}
	return nil
}

// Forget implements watchers.StatefulDriver.
func (*Driver) Forget(tx *store.Tx, watcher string) error {
	for _, table := range []string{"email_watches", "email_told"} {
		if _, err := tx.Exec("DELETE FROM "+table+" WHERE watcher = ?", watcher); err != nil {
			return fmt.Errorf("email: delete progress: %w", err)
		}
	}
	return nil
}

// Eraser returns an eraser that erases no rows, because the tables contain only numbers and
// digests.
func (*Driver) Eraser() erase.Eraser {
	return erase.Owned{Besides: []string{"email_watches", "email_told"}}
}

// DescribeConfig implements watchers.Driver. An example of its result is "mail from Ada about
// invoice (work)".
func (*Driver) DescribeConfig(raw json.RawMessage) string {
	f, err := parseFilter(raw)
	if err != nil {
		return "mail (invalid configuration)"
	}
	var b strings.Builder
	b.WriteString("mail")
	for _, x := range []struct {
		word string
		list list
	}{{" from ", f.From}, {" to ", f.To}, {" with the subject ", f.Subject}} {
		if len(x.list) > 0 {
			b.WriteString(x.word + strings.Join(x.list, " or "))
		}
	}
	if len(f.Words) > 0 {
		b.WriteString(" about " + strings.Join(f.Words, " and "))
	}
	if !strings.EqualFold(f.Folder, inbox) {
		b.WriteString(" in " + f.Folder)
	}
	if f.Account != "" {
		b.WriteString(" (" + f.Account + ")")
	}
	return pim.SanitizeLine(b.String(), 300)
}
