package imapmail_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/platform/pim/imapmail"
	"hob/platform/pim/pimtest"
)

// TestWait_MailAfterADeletion checks that a mail is noticed although the count equals
// the one before a deletion.
func TestWait_MailAfterADeletion(t *testing.T) {
	idle, idles := "", 0
	a := pimtest.Speak(t, "* OK [CAPABILITY IMAP4rev1 IDLE] hi\r\n", func(tag, command string) string {
		switch word := strings.Fields(command + " x")[0]; {
		case tag == "DONE":
			return idle + " OK done\r\n"
		case word == "CAPABILITY":
			return "* CAPABILITY IMAP4rev1 IDLE\r\n" + tag + " OK done\r\n"
		case word == "EXAMINE":
			return "* 3 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 5] x\r\n" + tag + " OK done\r\n"
		case word == "IDLE":
			idle = tag
			idles++
			return "+ idling\r\n* " + map[bool]string{true: "2 EXPUNGE", false: "3 EXISTS"}[idles == 1] + "\r\n"
		}
		return tag + " OK done\r\n"
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := imapmail.Open(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Select(ctx, "INBOX"); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"the deletion", "the mail"} {
		if err := c.Wait(ctx, nil); err != nil || ctx.Err() != nil {
			t.Fatal(fmt.Sprint(what, " is not noticed: ", err, ctx.Err()))
		}
	}
}
