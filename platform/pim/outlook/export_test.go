package outlook

import "hob/platform/host/osrun"

// Scripts returns all scripts, for tests.
func Scripts() []osrun.Script {
	var out []osrun.Script
	for _, f := range []string{"find_mail.ps1", "read_mail.ps1", "write_mail.ps1", "move_mail.ps1", "find_tasks.ps1", "write_task.ps1", "find_notes.ps1", "write_note.ps1", "find_contacts.ps1"} {
		out = append(out, loadScript(f))
	}
	for _, f := range []string{"find_events.ps1", "write_event.ps1"} {
		out = append(out, eventScript(f))
	}
	return out
}
