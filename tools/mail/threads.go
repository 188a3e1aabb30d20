package mail

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"hob/platform/pim"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// mailThread is a conversation of messages, oldest first.
type mailThread struct {
	owner mailboxOwner
	mails []pim.Message
}

// findThread finds a conversation in the inbox, the sent folder and the archive of one mailbox. seed
// is a message of it, or zero: then words select the newest longest conversation whose subject or
// senders contain them. others is the number of matching messages in other conversations.
func findThread(ctx context.Context, r folderReader, owner mailboxOwner, words string, seed pim.Message) (t mailThread, others int, err error) {
	subject, ids := words, []string(nil)
	if seed.Ref != "" {
		subject, ids = stripReplyMarks(seed.Subject), threadIDs(seed)
	}
	var all []pim.Message
	for _, folder := range []string{inbox, "sent", "archive"} {
		list, err := r.relatedMails(ctx, folder, subject, ids)
		if err != nil {
			return t, 0, err
		}
		all = appendUnique(all, list)
	}
	for _, id := range rootIDs(all) { // the subject may have changed within the conversation
		for _, folder := range []string{inbox, "sent", "archive"} {
			list, err := r.relatedMails(ctx, folder, "", []string{id})
			if err != nil {
				return t, 0, err
			}
			all = appendUnique(all, list)
		}
	}
	sorting.StableByFunc(all, func(a, b pim.Message) int { return sentAt(a).Compare(sentAt(b)) })
	groups := groupThreads(all)
	best := pickThread(groups, subject, seed)
	if best < 0 {
		return t, 0, nil
	}
	for i, g := range groups {
		if i != best {
			others += len(g)
		}
	}
	return mailThread{owner, groups[best]}, others, nil
}

// maxRoots is the number of conversations whose other messages are searched by references.
const maxRoots = 4

// rootIDs returns the ids of the first messages of conversations.
func rootIDs(all []pim.Message) (out []string) {
	for _, m := range all {
		id := m.ID
		if len(m.Refers) > 0 {
			id = m.Refers[0]
		}
		if id != "" && !slices.Contains(out, id) && len(out) < maxRoots {
			out = append(out, id)
		}
	}
	return out
}

// appendUnique appends the messages that are not in the list. A message may be in several folders.
func appendUnique(all, more []pim.Message) []pim.Message {
	for _, m := range more {
		if !slices.ContainsFunc(all, func(x pim.Message) bool { return x.Ref == m.Ref || m.ID != "" && x.ID == m.ID }) {
			all = append(all, m)
		}
	}
	return all
}

// threadIDs returns the ids that the other messages of a conversation refer to: the first one, the
// answered one and the message itself.
func threadIDs(m pim.Message) (out []string) {
	if n := len(m.Refers); n > 0 {
		out = append(out, m.Refers[0])
		if n > 1 {
			out = append(out, m.Refers[n-1])
		}
	}
	if m.ID != "" {
		out = append(out, m.ID)
	}
	return out
}

// groupThreads groups messages by their references. A message without references that is marked as
// a reply joins the conversation with its subject if its sender takes part in it.
func groupThreads(all []pim.Message) (groups [][]pim.Message) {
	group := make([]int, len(all)) // index of the first message of each message's group
	for i := range all {
		group[i] = i
	}
	merge := func(a, b int) {
		a, b = group[a], group[b]
		for i := range group {
			if group[i] == max(a, b) {
				group[i] = min(a, b)
			}
		}
	}
	byID := map[string]int{}
	for i, m := range all {
		for _, id := range append(slices.Clone(m.Refers), m.ID) {
			if id == "" {
				continue
			}
			if j, ok := byID[id]; ok {
				merge(i, j)
			}
			byID[id] = i
		}
	}
	for i, m := range all {
		if len(m.Refers) > 0 || !isReplySubject(m.Subject) {
			continue
		}
		for j, x := range all[:i] {
			if threadSubject(x.Subject) == threadSubject(m.Subject) && sharesPeople(x, m) {
				merge(i, j)
				break
			}
		}
	}
	for i := range all {
		if group[i] != i {
			continue
		}
		var g []pim.Message
		for j, m := range all {
			if group[j] == i {
				g = append(g, m)
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// sharesPeople reports whether the sender of a message takes part in another one, and the other way
// round.
func sharesPeople(a, b pim.Message) bool {
	has := func(list []pim.Person, from []pim.Person) bool {
		return len(from) > 0 && slices.ContainsFunc(list, func(p pim.Person) bool { return p.Address == from[0].Address })
	}
	return has(append(slices.Clone(a.To), a.From...), b.From) && has(append(slices.Clone(b.To), b.From...), a.From)
}

// pickThread returns the index of the group with the seed, or of the longest group whose subject
// contains the words, the newest if there are several; or -1.
func pickThread(groups [][]pim.Message, words string, seed pim.Message) int {
	best := -1
	for i, g := range groups {
		if seed.Ref != "" {
			if slices.ContainsFunc(g, func(m pim.Message) bool { return m.Ref == seed.Ref || m.ID != "" && m.ID == seed.ID }) {
				return i
			}
			continue
		}
		if !slices.ContainsFunc(g, func(m pim.Message) bool { return textnorm.ContainsAllWords(m.Subject, textnorm.FoldedWords(words)) }) {
			continue
		}
		if best < 0 || cmp.Or(cmp.Compare(len(g), len(groups[best])), sentAt(g[len(g)-1]).Compare(sentAt(groups[best][len(groups[best])-1]))) > 0 {
			best = i
		}
	}
	return best
}

// replyMarks returns the marks before the subject of a reply or forward in common languages.
func replyMarks() []string {
	return []string{"re", "aw", "fw", "fwd", "wg", "sv", "vs", "antw", "tr", "rv", "odp", "ref", "答复", "回复", "转发"}
}

func isReplySubject(s string) bool { return stripReplyMarks(s) != strings.TrimSpace(s) }

// threadSubject returns a subject without marks of replies and forwards, folded for comparisons.
func threadSubject(s string) string {
	return strings.Join(strings.Fields(textnorm.Fold(stripReplyMarks(s))), " ")
}

// stripReplyMarks removes the marks of replies and forwards from a subject.
func stripReplyMarks(s string) string {
	for {
		s = strings.TrimSpace(s)
		mark, rest, ok := strings.Cut(strings.Replace(s, "：", ":", 1), ":")
		mark, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(mark)), "[") // "Re[2]:"
		if !ok || !slices.Contains(replyMarks(), mark) {
			return s
		}
		s = rest
	}
}
