package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// outsideError marks an error as untrusted because it quotes a message or a server.
func outsideError(err error) error { return tools.Quoting(err, provenance.Outside) }

// mailersNamed returns the named mailbox, or all mailboxes if name is "". It returns at least one
// mailbox or an error.
func (d Deps) mailersNamed(name string) ([]pim.Mailer, error) {
	var all []pim.Mailer
	if d.Mailers != nil {
		all = d.Mailers()
	}
	if len(all) == 0 {
		return nil, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "no account has email", Remedy: "add one with: hob account add"}
	}
	if name = strings.TrimSpace(name); name == "" {
		return all, nil
	}
	var names []string
	for _, m := range all {
		if strings.EqualFold(m.Name(), name) {
			return []pim.Mailer{m}, nil
		}
		names = append(names, m.Name())
	}
	return nil, tools.Errorf(tools.NotFound, "no account %q has email; accounts with email: %s", tools.Clean(textnorm.Ellipsize(name, 60)), tools.Clean(strings.Join(names, ", ")))
}

// foundMail is a message with its mailbox.
type foundMail struct {
	pim.Message
	box pim.Mailer
}

// findMail finds exactly one message by its id, or by words of its sender or subject in a folder
// ("" is the inbox). If several messages match, the error names them.
func (d Deps) findMail(ctx context.Context, words, folder string, all []pim.Mailer) (pim.Message, pim.Mailer, error) {
	words = strings.TrimSpace(words)
	if words == "" {
		return pim.Message{}, nil, tools.Errorf(tools.InvalidArguments, "name the email by its id, or words of its sender or subject")
	}
	if account, rest, ok := strings.Cut(words, "/"); ok && strings.Count(rest, "/") >= 2 && !strings.ContainsAny(account, " \t") {
		for _, m := range all {
			if m.Name() == account {
				x, err := m.ReadMail(ctx, words)
				return x, m, tools.ClassifyPIM(err)
			}
		}
	}
	list, err := d.findMatches(ctx, words, folder, all)
	switch {
	case len(list) == 1:
		x, err := list[0].box.ReadMail(ctx, list[0].Ref)
		return x, list[0].box, tools.ClassifyPIM(err)
	case len(list) == 0 && err != nil:
		return pim.Message{}, nil, tools.ClassifyPIM(err)
	case len(list) == 0:
		return pim.Message{}, nil, tools.Errorf(tools.NotFound, "no email has %q in its sender or subject", tools.Clean(textnorm.Ellipsize(words, 80)))
	}
	var b strings.Builder
	for _, f := range list[:min(len(list), 8)] {
		fmt.Fprintf(&b, "\n- %s: %s (%s)", senderLabel(f.Message), subjectLine(f.Message, 80), f.Ref)
	}
	return pim.Message{}, nil, outsideError(tools.Errorf(tools.InvalidArguments, "%d emails match %q; name one by its id:%s", len(list), tools.Clean(textnorm.Ellipsize(words, 80)), b.String()))
}

// findMatches finds the messages whose sender or subject contains the words.
func (d Deps) findMatches(ctx context.Context, words, folder string, all []pim.Mailer) ([]foundMail, error) {
	queries := []pim.MailQuery{{Folder: folder, From: words}, {Folder: folder, Subject: words}}
	results := make([][]pim.Message, len(all)*len(queries))
	failed := make([]error, len(results))
	var wg sync.WaitGroup
	for i, m := range all {
		for j, q := range queries {
			wg.Go(func() {
				k := i*len(queries) + j
				results[k], failed[k] = m.FindMail(ctx, q)
				if errors.Is(failed[k], pim.ErrNoServer) { // this mailbox can only send mail
					failed[k] = nil
				}
			})
		}
	}
	wg.Wait()
	var out []foundMail
	for i, list := range results {
		for _, x := range list {
			if !slices.ContainsFunc(out, func(f foundMail) bool { return f.Ref == x.Ref }) {
				out = append(out, foundMail{x, all[i/len(queries)]})
			}
		}
	}
	return out, errors.Join(failed...)
}
