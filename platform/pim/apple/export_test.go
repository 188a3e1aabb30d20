package apple

import "hob/platform/host/osrun"

// Scripts returns all scripts, for tests.
func Scripts() []osrun.Script {
	var out []osrun.Script
	for _, f := range []string{"calendars.js", "find_events.js", "create_event.js", "change_event.js", "delete_event.js"} {
		out = append(out, eventScript(f))
	}
	for _, f := range []string{"find_reminders.js", "create_reminder.js", "mark_reminder.js"} {
		out = append(out, remindScript(f))
	}
	for _, f := range []string{"find_notes.js", "read_note.js", "create_note.js"} {
		out = append(out, noteScript(f))
	}
	out = append(out, loadScript("find_contacts.js"))
	for _, f := range []string{"find_mail.applescript", "read_mail.applescript", "write_mail.applescript", "move_mail.applescript"} {
		out = append(out, mailScript(f))
	}
	return out
}
