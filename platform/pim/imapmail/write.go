package imapmail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"

	"hob/platform/pim"
)

// putWait is the time limit for storing a message.
const putWait = 3 * time.Minute

// folderNames returns common names of the folder with a role, for servers that do not mark special
// folders (RFC 6154). The first one is the name of a new folder.
func folderNames(use string) []string {
	return map[string][]string{
		"archive": {"Archive", "Archives", "Archiv", "All Mail"},
		"drafts":  {"Drafts", "Draft", "Entwürfe", "Brouillons", "Borradores"},
		"junk":    {"Junk", "Spam", "Junk E-mail", "Bulk Mail"},
		"sent":    {"Sent", "Sent Items", "Sent Messages", "Sent Mail", "Gesendet", "Gesendete Elemente", "Envoyés", "Enviados"},
		"trash":   {"Trash", "Deleted Items", "Deleted Messages", "Deleted", "Papierkorb", "Corbeille", "Papelera"},
	}[use]
}

// For returns the folder with a role (archive, drafts, junk, sent, trash) and creates it if
// necessary. Any other name must be that of an existing folder.
func (m *Conn) For(ctx context.Context, use string) (string, error) {
	if strings.EqualFold(use, "inbox") {
		return "INBOX", nil
	}
	all, err := m.Folders(ctx)
	if err != nil {
		return "", err
	}
	want := strings.ToLower(use)
	by := func(fits func(pim.Folder) bool) string {
		if i := slices.IndexFunc(all, fits); i >= 0 {
			return all[i].Name
		}
		return ""
	}
	if name := by(func(f pim.Folder) bool { return f.Name == use }); name != "" {
		return name, nil
	}
	if name := by(func(f pim.Folder) bool { return f.Use == want }); name != "" {
		return name, nil
	}
	if name := by(func(f pim.Folder) bool { return want == "archive" && f.Use == "all" }); name != "" { // Gmail archives messages in this folder
		return name, nil
	}
	if name := by(func(f pim.Folder) bool { return strings.EqualFold(f.Name, use) }); name != "" {
		return name, nil
	}
	known := folderNames(want)
	for _, n := range known {
		if name := by(func(f pim.Folder) bool {
			return strings.EqualFold(f.Name, n) || strings.EqualFold(f.Name, "INBOX."+n) || strings.EqualFold(f.Name, "INBOX/"+n)
		}); name != "" {
			return name, nil
		}
	}
	if len(known) == 0 {
		var names []string
		for _, f := range all {
			names = append(names, f.Name)
		}
		return "", m.account.Errorf("%w: %q; available: %s", pim.ErrNoFolder, pim.SanitizeLine(use, 80), pim.SanitizeLine(strings.Join(names, ", "), 300))
	}
	return known[0], m.runBounded(ctx, askBytes, "create the folder "+known[0], func() error { return m.c.Create(known[0], nil).Wait() })
}

// Place is the location of a message.
type Place struct {
	Folder   string
	Validity uint32
	UID      uint32
}

// Ref returns the reference of a message: account/validity/uid/folder; "" if its UID is unknown.
func (p Place) Ref(account string) string {
	if p.UID == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%d/%d/%s", account, p.Validity, p.UID, p.Folder)
}

// ErrUnsure means that the connection failed before the server confirmed a write.
var ErrUnsure = errors.New("outcome unknown")

// Put stores a message in a folder, as a draft or as read. The UID in the result is 0 if the server
// does not return it.
func (m *Conn) Put(ctx context.Context, folder string, mail []byte, draft bool) (Place, error) {
	flags := []imap.Flag{imap.FlagSeen}
	if draft {
		flags = append(flags, imap.FlagDraft)
	}
	ctx, cancel := context.WithTimeout(ctx, putWait)
	defer cancel()
	m.bound.Allow(askBytes)
	stop := context.AfterFunc(ctx, func() { _ = m.bound.Close() })
	a := m.c.Append(folder, int64(len(mail)), &imap.AppendOptions{Flags: flags})
	_, err := a.Write(mail)
	err = errors.Join(err, a.Close())
	d, werr := a.Wait()
	if !stop() {
		return Place{}, m.account.Errorf("store a message: %w: %w", ErrUnsure, context.Cause(ctx))
	}
	if no, is := errors.AsType[*imap.Error](werr); is {
		return Place{}, m.wrapError("store a message in "+pim.SanitizeLine(folder, 80), no)
	}
	if err = errors.Join(err, werr); err != nil {
		return Place{}, m.account.Errorf("store a message: %w: %w", ErrUnsure, err)
	}
	return Place{folder, d.UIDValidity, uint32(d.UID)}, nil
}

// Enter opens a folder for changes.
func (m *Conn) Enter(ctx context.Context, folder string) (State, error) {
	return m.openFolder(ctx, folder, false)
}

// Named lists the UIDs of the messages with a Message-ID in the open folder.
func (m *Conn) Named(ctx context.Context, id string) ([]uint32, error) {
	if id == "" {
		return nil, nil
	}
	return m.searchUIDs(ctx, imap.SearchCriteria{Header: []imap.SearchCriteriaHeaderField{{Key: "Message-ID", Value: "<" + id + ">"}}})
}

// Move moves a message from the open folder. The new place has no UID if the server does not return
// it. Move fails on servers that cannot remove a single message, because other messages could be
// removed.
func (m *Conn) Move(ctx context.Context, uid uint32, folder string) (Place, error) {
	caps := m.c.Caps()
	if !caps.Has(imap.CapMove) && !caps.Has(imap.CapIMAP4rev2) && !caps.Has(imap.CapUIDPlus) {
		return Place{}, m.account.Errorf("%w: the server cannot move a message (neither MOVE nor UIDPLUS)", errors.ErrUnsupported)
	}
	out := Place{Folder: folder}
	err := m.runBounded(ctx, askBytes, "move a message to "+pim.SanitizeLine(folder, 80), func() error {
		d, err := m.c.Move(imap.UIDSetNum(imap.UID(uid)), folder).Wait()
		if err != nil {
			return err
		}
		if set, ok := d.DestUIDs.(imap.UIDSet); ok {
			if list, ok := set.Nums(); ok && len(list) == 1 {
				out.Validity, out.UID = d.UIDValidity, uint32(list[0])
			}
		}
		return nil
	})
	return out, m.markUncertain(err)
}

// Remove permanently deletes one message from the open folder.
func (m *Conn) Remove(ctx context.Context, uid uint32) error {
	if !m.c.Caps().Has(imap.CapUIDPlus) && !m.c.Caps().Has(imap.CapIMAP4rev2) {
		return m.account.Errorf("%w: the server cannot remove a single message (no UIDPLUS)", errors.ErrUnsupported)
	}
	return m.markUncertain(m.runBounded(ctx, askBytes, "remove a message", func() error {
		set := imap.UIDSetNum(imap.UID(uid))
		if err := m.c.Store(set, &imap.StoreFlags{Op: imap.StoreFlagsAdd, Silent: true, Flags: []imap.Flag{imap.FlagDeleted}}, nil).Close(); err != nil {
			return err
		}
		return m.c.UIDExpunge(set).Close()
	}))
}

// markUncertain wraps an error with ErrUnsure unless the server refused the request.
func (m *Conn) markUncertain(err error) error {
	if err == nil || errors.Is(err, pim.ErrRefused) || errors.Is(err, pim.ErrNoFolder) {
		return err
	}
	if _, said := errors.AsType[*imap.Error](err); said {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnsure, err)
}

// Limits of a message that is read completely.
const (
	wholeBytes = 1 << 20
	wholeChars = 100_000
)

// Whole reads the text of a message into x, up to the first megabyte.
func (m *Conn) Whole(ctx context.Context, x *pim.Message) error {
	section := &imap.FetchItemBodySection{Peek: true, Partial: &imap.SectionPartial{Size: wholeBytes}}
	return m.fetchMails(ctx, []uint32{x.UID}, wholeBytes, section, func(_ pim.Message, b []byte) {
		x.Text, x.Files, x.Cut = readTextOf(b, wholeChars)
		x.Cut = x.Cut || x.Size > int64(len(b))
	})
}

// Raw reads at most n bytes of a message, starting at byte at, in addition to its header fields. ok
// is false if the message no longer exists.
func (m *Conn) Raw(ctx context.Context, uid uint32, at int64, n int) (x pim.Message, raw []byte, ok bool, err error) {
	section := &imap.FetchItemBodySection{Peek: true, Partial: &imap.SectionPartial{Offset: at, Size: int64(n)}}
	err = m.fetchMails(ctx, []uint32{uid}, n, section, func(found pim.Message, b []byte) { x, raw, ok = found, b, true })
	return x, raw, ok, err
}

// Head reads the header fields of a message into x.
func Head(raw []byte, x *pim.Message) { readHeader(raw[:min(len(raw), maxHeader)], x) }

// See marks a message as read. The folder must have been opened with Enter.
func (m *Conn) See(ctx context.Context, uid uint32) error {
	return m.addFlag(ctx, uid, imap.FlagSeen, "mark a message as read")
}

// Flag flags a message. The folder must have been opened with Enter.
func (m *Conn) Flag(ctx context.Context, uid uint32) error {
	return m.addFlag(ctx, uid, imap.FlagFlagged, "flag a message")
}

func (m *Conn) addFlag(ctx context.Context, uid uint32, flag imap.Flag, what string) error {
	return m.runBounded(ctx, askBytes, what, func() error {
		return m.c.Store(imap.UIDSetNum(imap.UID(uid)), &imap.StoreFlags{Op: imap.StoreFlagsAdd, Silent: true, Flags: []imap.Flag{flag}}, nil).Close()
	})
}
