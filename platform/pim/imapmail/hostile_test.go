package imapmail_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/pim/pimtest"
)

func TestHostileServers(t *testing.T) {
	const hello = "* OK [CAPABILITY IMAP4rev1 IDLE] hi\r\n"
	plain := func(tag, command string) string {
		switch strings.ToUpper(strings.Fields(command + " x")[0]) {
		case "SELECT", "EXAMINE":
			return "* 1 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 5] x\r\n" + tag + " OK [READ-ONLY] done\r\n"
		}
		return tag + " OK done\r\n"
	}
	on := func(word, said string) func(tag, command string) string {
		return func(tag, command string) string {
			if strings.Contains(strings.ToUpper(command), word) {
				return strings.ReplaceAll(said, "TAG", tag)
			}
			return plain(tag, command)
		}
	}
	locked := func(tag, command string) string {
		switch strings.ToUpper(strings.Fields(command + " x")[0]) {
		case "EXAMINE":
			return tag + " NO it is locked\r\n"
		case "LIST":
			return "* LIST () \"/\" INBOX\r\n" + tag + " OK done\r\n"
		}
		return plain(tag, command)
	}
	tests := []struct {
		name, hello string
		answer      func(tag, command string) string
		want        string // part of the error; "" for success
	}{
		{"an ordinary one", hello, plain, ""},
		{"a line without end", "* OK " + strings.Repeat("x", 3<<20), plain, "the data exceeds a limit"},
		{"no IMAP at all", "HTTP/1.1 400 Bad Request\r\n\r\n", plain, "connect"},
		{"immediate goodbye", "* BYE we are full\r\n", plain, "we are full"},
		{"BYE with a request to retry", "* BYE [UNAVAILABLE] back \x1b[31mat nine\r\n", plain, "back [31mat nine"},
		{"its folder is locked", hello, locked, "open the folder INBOX: the server refused the request: it is locked"},
		{"an untagged response", hello, on("LOGIN", "a99 OK x\r\n"), "sign in"},
		{"hangs up", hello, on("LOGIN", ""), "sign in"},
		{"busy", hello, on("LOGIN", "TAG NO [UNAVAILABLE] later\r\n"), "sign-in is temporarily unavailable"},
		{"colours the terminal", hello, on("LOGIN", "TAG NO \x1b[31mred\r\n"), "refused the sign-in: [31mred"},
		{"no sequence numbers", hello, on("EXAMINE", "TAG OK done\r\n"), "does not support message UIDs"},
		{"lists nest deeply", hello, on("EXAMINE", "* FLAGS "+strings.Repeat("(", 4000)+"\r\n"), "open the folder"},
		{"endless UIDs", hello, on("UID SEARCH", "* SEARCH"+strings.Repeat(" 4294967295", 1<<20)+"\r\nTAG OK done\r\n"), "the data exceeds a limit"},
		{"a huge mail", hello, on("UID FETCH", "* 1 FETCH (UID 5 BODY[] {99999999}\r\n"+strings.Repeat("x", 4<<20)), "the data exceeds a limit"},
		{"an unrequested mail", hello, on("UID FETCH", "* 1 FETCH (UID 99 BODY[] {1}\r\nx)\r\nTAG OK done\r\n"), ""},
		{"numbers out of range", hello, on("UID FETCH", "* 99999999999999 FETCH (UID 5)\r\n"), "read messages"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err := readInbox(ctx, pimtest.Speak(t, tt.hello, tt.answer))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\x1b\x00") {
				t.Errorf("%q", err)
			}
		})
	}
	t.Run("a silent server", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := readInbox(ctx, pimtest.Speak(t, hello, on("LOGIN", "* OK still thinking\r\n"))); err == nil {
			t.Error("Open succeeded")
		}
	})
}

// readInbox connects and reads the inbox like a watcher.
func readInbox(ctx context.Context, a pim.Account) (err error) {
	c, err := imapmail.Open(ctx, a)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Select(ctx, "INBOX"); err != nil {
		return err
	}
	if _, err := c.After(ctx, 5); err != nil {
		return err
	}
	list, err := c.Headers(ctx, []uint32{5})
	if err == nil && len(list) > 0 && list[0].UID != 5 {
		return fmt.Errorf("an unrequested mail was returned: %+v", list)
	}
	return err
}
