package mail

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
)

// Numbers of messages from which habits are read.
const (
	habitSent   = 200
	habitInbox  = 200
	habitThrown = 100
	// settled is the age after which an unread message was left unread.
	settled = 48 * time.Hour
)

// mailHabits is what the user did with earlier messages. The mailbox itself records it: the sent
// messages, the messages in the trash and the junk folder, and the unread ones. So it is always
// current, and includes what the user does in other programs.
type mailHabits struct {
	writesTo map[string]int  // number of messages sent to an address
	sent     map[string]bool // ids of sent messages
	answered map[string]bool // ids that sent messages refer to
	thrown   map[string]int  // messages of an address in the trash or the junk folder
	read     map[string]int  // settled messages of an address that were read
	left     map[string]int  // settled messages of an address that are unread
}

func readHabits(ctx context.Context, r folderReader, owner mailboxOwner, now time.Time) (mailHabits, error) {
	h := mailHabits{map[string]int{}, map[string]bool{}, map[string]bool{}, map[string]int{}, map[string]int{}, map[string]int{}}
	for _, folder := range []struct {
		name string
		most int
		add  func(pim.Message, string)
	}{{"sent", habitSent, h.addSent}, {"trash", habitThrown, h.addThrown}, {"junk", habitThrown, h.addThrown}, {inbox, habitInbox, func(m pim.Message, from string) {
		switch {
		case now.Sub(m.Received) < settled:
		case m.Seen:
			h.read[from]++
		default:
			h.left[from]++
		}
	}}} {
		list, err := r.newestMails(ctx, folder.name, time.Time{}, folder.most, false)
		if err != nil {
			return h, err
		}
		for _, m := range list {
			if len(m.From) > 0 && (folder.name == "sent" || m.From[0].Address != owner.address) {
				folder.add(m, m.From[0].Address)
			}
		}
	}
	return h, nil
}

func (h mailHabits) addSent(m pim.Message, _ string) {
	h.sent[m.ID] = true
	for _, p := range m.To {
		h.writesTo[p.Address]++
	}
	if n := len(m.Refers); n > 0 { // the last reference is the answered message
		h.answered[m.Refers[n-1]] = true
	}
}

func (h mailHabits) addThrown(_ pim.Message, from string) { h.thrown[from]++ }

// scoreHabits scores a message by the user's treatment of earlier messages of its sender.
func (h mailHabits) scoreHabits(m pim.Message, add func(points int, reason string)) {
	if len(m.From) == 0 {
		return
	}
	from := m.From[0].Address
	if n := h.writesTo[from]; n > 0 {
		add(12+3*min(n, 5), fmt.Sprintf("you write to this person (%s)", countEmails(n)))
	}
	if h.isReply(m) {
		add(20, "it answers an email of yours")
	}
	if h.answered[m.ID] && m.ID != "" {
		add(-40, "you have answered it")
	}
	if h.writesTo[from] > 0 {
		return // the habits below concern only unknown senders
	}
	if n := h.thrown[from]; n > 1 {
		add(-5*min(n, 4), fmt.Sprintf("you threw away %s of this sender", countEmails(n)))
	}
	if n := h.left[from]; n > 2 && h.read[from] == 0 {
		add(-10, fmt.Sprintf("you left %s of this sender unread", countEmails(n)))
	}
}

// isReply reports whether a message refers to a message that the user sent.
func (h mailHabits) isReply(m pim.Message) bool {
	for _, id := range m.Refers {
		if h.sent[id] {
			return true
		}
	}
	return false
}

func countEmails(n int) string {
	if n == 1 {
		return "1 email"
	}
	return fmt.Sprintf("%d emails", n)
}

// isAutomated reports whether a program sent a message, so that no person waits for an answer.
func isAutomated(m pim.Message) bool {
	if m.Auto != "" || len(m.From) == 0 {
		return m.Auto != ""
	}
	local, _, _ := strings.Cut(strings.NewReplacer("-", "", "_", "", ".", "").Replace(m.From[0].Address), "@")
	for _, word := range []string{"noreply", "donotreply", "notification", "mailerdaemon", "newsletter", "automailer"} {
		if strings.Contains(local, word) {
			return true
		}
	}
	return false
}
