package actionclaims

import "testing"

func TestClaim_IsBackedBy(t *testing.T) {
	for _, tc := range []struct {
		name   string
		claim  Claim
		action Action
		want   bool
	}{
		{"a mail that was sent", Claim{Kind: Sent}, Action{"send_mail", "send"}, true},
		{"a mail that was only saved", Claim{Kind: Sent}, Action{"save_draft", "write"}, false},
		{"a reminder that was created", Claim{Kind: Changed, Family: Plan}, Action{"create_reminder", "write"}, true},
		{"a reminder, but a file was written", Claim{Kind: Changed, Family: Plan}, Action{"write_file", "write"}, false},
		{"a file that was read", Claim{Kind: Changed, Family: Text}, Action{"read_file", "read"}, false},
		{"a note that was deleted", Claim{Kind: Deleted}, Action{"delete_note", "destroy"}, true},
		{"a note that was created instead", Claim{Kind: Deleted}, Action{"create_note", "write"}, false},
		{"a command with unknown effects", Claim{Kind: Sent}, Action{"run_command", "exec"}, true},
		{"a file that a delegated task wrote", Claim{Kind: Changed, Family: Text}, Action{"delegate_tasks", "write"}, true},
		{"a task that has only started", Claim{Kind: Changed}, Action{"spawn_agent", "write"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.claim.IsBackedBy([]Action{tc.action}); got != tc.want {
				t.Errorf("IsBackedBy(%+v) = %v, want %v", tc.action, got, tc.want)
			}
			if tc.claim.IsBackedBy(nil) {
				t.Error("IsBackedBy(nil) = true, want false")
			}
		})
	}
}

func TestClaim_IsSupportedBy(t *testing.T) {
	c := Claim{Phrase: "your dentist appointment is at 15", Family: Plan}
	for result, want := range map[string]bool{
		"list_events\nDentist, 15:00":     true,
		"list_events\nDentist, 3 pm":      false, // the hour is compared as a number
		"read_file\nThe dentist is at 15": true,
		"read_file\nLunch at 15":          false,
	} {
		if got := c.IsSupportedBy([]string{result}); got != want {
			t.Errorf("IsSupportedBy(%q) = %v, want %v", result, got, want)
		}
	}
}

func TestIsQuestion(t *testing.T) {
	for message, want := range map[string]bool{
		"Did you send the mail?":              true,
		"Can you set a reminder?":             false,
		"Can you tell me whether it is sent?": true,
		"Send the mail.":                      false,
	} {
		if got := IsQuestion(message); got != want {
			t.Errorf("IsQuestion(%q) = %v, want %v", message, got, want)
		}
	}
}
