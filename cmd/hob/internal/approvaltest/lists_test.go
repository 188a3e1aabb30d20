package approvaltest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/notes"
	"hob/channels/reminders"
	"hob/platform/pim"
	"hob/platform/pim/pimtest"
)

// openNotes opens a folder of Markdown files that the owner has declared private.
func openNotes(t *testing.T) *chatChannel { return inNotes(t, true) }

// openSharedNotes opens a folder that the owner has not declared private: messages there are
// received but cannot answer questions.
func openSharedNotes(t *testing.T) *chatChannel { return inNotes(t, false) }

func inNotes(t *testing.T, private bool) *chatChannel {
	vault := t.TempDir()
	folder := filepath.Join(vault, "Hob")
	failOnError(t, os.Mkdir(folder, 0o700))
	n := 0
	return &chatChannel{
		channel: notes.Name, section: fmt.Sprintf("[channels.notes]\nprivate = %v\n", private), more: fmt.Sprintf("[pim]\nnotes_folder = %q\n", vault),
		driver: simulatedDriver{notes.Name, func(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
			var c notes.Config
			if err := decode(&c); err != nil {
				return nil, err
			}
			return notes.New(c, deps, notes.Options{Every: 20 * time.Millisecond, Settle: 5 * time.Millisecond})
		}},
		powerless: !private, trial: true,
		say: func(_ string, _ bool, text string) bool {
			n++
			failOnError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("mine %d.md", n)), []byte("#hob "+text+"\n"), 0o600))
			return false
		},
		saw: func(part string) bool {
			list, err := os.ReadDir(folder)
			failOnError(t, err)
			for _, e := range list {
				b, err := os.ReadFile(filepath.Join(folder, e.Name()))
				if err == nil && !strings.HasPrefix(e.Name(), "mine ") && strings.Contains(e.Name()+"\n"+string(b), part) {
					return true
				}
			}
			return false
		},
	}
}

// openReminders opens a list on a CalDAV server that the owner has declared private.
func openReminders(t *testing.T) *chatChannel {
	r := pimtest.StartRadicale(t)
	r.Make("Hob")
	acc := r.Account("tester")
	n := 0
	var lists func() []pim.Reminders
	return &chatChannel{
		section: "[channels.reminders]\nprivate = true\n",
		more:    fmt.Sprintf("[accounts.home]\ncaldav = %q\nuser = %q\npassword = %q\n", acc.Server(pim.CalDAV), acc.User, pimtest.Secret),
		driver: simulatedDriver{reminders.Name, func(decode func(any) error, d channels.Deps) (channels.Channel, error) {
			var c reminders.Config
			if err := decode(&c); err != nil {
				return nil, err
			}
			lists = d.Lists
			return reminders.New(c, d, reminders.Options{Every: 100 * time.Millisecond, Settle: 5 * time.Millisecond})
		}},
		trial: true,
		say: func(_ string, _ bool, text string) bool {
			n++
			r.PutTodo("Hob", fmt.Sprintf("mine%d", n), "SUMMARY:"+text)
			return false
		},
		saw: func(part string) bool {
			for _, place := range lists() {
				list, err := place.FindReminders(t.Context(), true)
				if err != nil {
					continue
				}
				for _, x := range list {
					if strings.Contains(x.Title+"\n"+x.Notes, part) && !strings.HasPrefix(x.Title, "/") {
						return true
					}
				}
			}
			return false
		},
	}
}
