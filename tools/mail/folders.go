package mail

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/text/sorting"
)

// maxThreadRead is the number of messages that are read per folder to find a thread.
const maxThreadRead = 100

// folderReader reads several folders of one mailbox. A folder that does not exist is empty. The
// Ref of the messages is set.
type folderReader interface {
	// newestMails returns at most limit messages that arrived since t, newest first. With text, it
	// returns the beginning of their text, too.
	newestMails(ctx context.Context, folder string, t time.Time, limit int, text bool) ([]pim.Message, error)
	// relatedMails returns the messages whose subject contains the words, or that refer to one of the
	// ids, oldest first, with the beginning of their text.
	relatedMails(ctx context.Context, folder, subject string, ids []string) ([]pim.Message, error)
}

// mailboxOwner identifies a mailbox and its user.
type mailboxOwner struct {
	account string
	address string // address of the user in lower case; "" if it is unknown
}

// isOwn reports whether the user wrote a message.
func (o mailboxOwner) isOwn(m pim.Message) bool {
	return o.address != "" && len(m.From) > 0 && m.From[0].Address == o.address
}

// eachMailbox calls do for the named account, or for all accounts or local programs if account is
// "". If some of them fail, it also returns an error that names them. The results are nil if all
// failed.
func eachMailbox[T any](ctx context.Context, d Deps, account string, do func(context.Context, folderReader, mailboxOwner) ([]T, error)) ([]T, error) {
	apps := d.appMailboxes()
	if len(apps) == 0 {
		accounts, err := d.accountsNamed(account)
		if err != nil {
			return nil, err
		}
		return queryAccounts(ctx, accounts, askWait, func(ctx context.Context, c *imapmail.Conn, a pim.Account) ([]T, error) {
			return do(ctx, &imapFolders{c: c, account: a}, mailboxOwner{a.Name, strings.ToLower(cmp.Or(a.Address, a.Login()))})
		})
	}
	apps, err := d.mailersNamed(account)
	if err != nil {
		return nil, err
	}
	var out []T
	var failed []error
	for _, m := range apps {
		list, err := do(ctx, appFolders{m}, mailboxOwner{m.Name(), m.From().Address})
		out, failed = append(out, list...), append(failed, err)
	}
	if out == nil && slices.Contains(failed, nil) {
		out = []T{}
	}
	return out, errors.Join(failed...)
}

// imapFolders reads the folders of an account over one connection.
type imapFolders struct {
	c       *imapmail.Conn
	account pim.Account
	state   imapmail.State
}

// openFolder opens a folder. ok is false if it does not exist.
func (f *imapFolders) openFolder(ctx context.Context, folder string) (ok bool, err error) {
	f.state, err = f.c.Select(ctx, folder)
	if errors.Is(err, pim.ErrNoFolder) {
		return false, nil
	}
	return err == nil, err
}

func (f *imapFolders) newestMails(ctx context.Context, folder string, t time.Time, limit int, text bool) ([]pim.Message, error) {
	ok, err := f.openFolder(ctx, folder)
	if !ok {
		return nil, err
	}
	q := imapmail.Query{}
	if !t.IsZero() {
		q.Since = t.UTC().AddDate(0, 0, -1) // servers determine the day in their own time zone
	}
	uids, err := f.c.Find(ctx, q)
	if err != nil {
		return nil, err
	}
	list, err := f.readMails(ctx, uids[max(0, len(uids)-limit):], text)
	slices.Reverse(list)
	return slices.DeleteFunc(list, func(m pim.Message) bool { return m.Received.Before(t) }), err
}

func (f *imapFolders) relatedMails(ctx context.Context, folder, subject string, ids []string) ([]pim.Message, error) {
	ok, err := f.openFolder(ctx, folder)
	if !ok {
		return nil, err
	}
	var uids []uint32
	if subject != "" {
		if uids, err = f.c.Find(ctx, imapmail.Query{Subject: subject}); err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		more, err := f.c.Related(ctx, id)
		if err != nil {
			return nil, err
		}
		uids = append(uids, more...)
	}
	slices.Sort(uids)
	uids = slices.Compact(uids)
	return f.readMails(ctx, uids[max(0, len(uids)-maxThreadRead):], true)
}

// readMails reads messages, oldest first. It omits messages that cannot be parsed.
func (f *imapFolders) readMails(ctx context.Context, uids []uint32, text bool) (out []pim.Message, err error) {
	get := f.c.Headers
	if text {
		get = f.c.Beginnings
	}
	for page := range slices.Chunk(uids, imapmail.Page) {
		list, err := get(ctx, page)
		if errors.Is(err, pim.ErrRefused) {
			list = nil
			for _, u := range page {
				one, err := get(ctx, []uint32{u})
				if err != nil && !errors.Is(err, pim.ErrRefused) {
					return out, err
				}
				list = append(list, one...)
			}
		} else if err != nil {
			return out, err
		}
		out = append(out, list...)
	}
	for i := range out {
		out[i].Ref = imapmail.Place{Folder: f.c.Folder(), Validity: f.state.Validity, UID: out[i].UID}.Ref(f.account.Name)
	}
	return out, nil
}

// appFolders reads the folders of a local program. Its messages have no header fields about lists.
type appFolders struct{ m pim.Mailer }

// maxAppRead is the number of messages whose text is read from a local program, one by one.
const maxAppRead = 20

func (f appFolders) newestMails(ctx context.Context, folder string, t time.Time, limit int, text bool) ([]pim.Message, error) {
	if strings.EqualFold(folder, inbox) {
		folder = ""
	}
	list, err := f.findMails(ctx, pim.MailQuery{Folder: folder, Since: t, Limit: min(limit, most)})
	if text {
		list = f.readTexts(ctx, list)
	}
	return list, err
}

func (f appFolders) relatedMails(ctx context.Context, folder, subject string, _ []string) ([]pim.Message, error) {
	if strings.EqualFold(folder, inbox) {
		folder = ""
	}
	list, err := f.findMails(ctx, pim.MailQuery{Folder: folder, Subject: subject, Limit: most})
	list = f.readTexts(ctx, list)
	slices.Reverse(list)
	return list, err
}

func (f appFolders) findMails(ctx context.Context, q pim.MailQuery) ([]pim.Message, error) {
	list, err := f.m.FindMail(ctx, q)
	if errors.Is(err, pim.ErrNoFolder) || errors.Is(err, pim.ErrNoServer) {
		return nil, nil
	}
	sorting.StableByFunc(list, func(a, b pim.Message) int { return b.Received.Compare(a.Received) })
	return list, err
}

// readTexts reads the text of the first messages. A message that cannot be read keeps no text.
func (f appFolders) readTexts(ctx context.Context, list []pim.Message) []pim.Message {
	for i, m := range list[:min(len(list), maxAppRead)] {
		if whole, err := f.m.ReadMail(ctx, m.Ref); err == nil {
			list[i] = whole
		}
	}
	return list
}
