// Package autonomy schedules the message flow (docs/architecture.md) and connects its stages.
//
//	channel / watcher / trigger / API
//	   -> intake.Intake   one row in the inbox; only then is the source acknowledged
//	   -> wake (or the next tick finds it)
//	Loop                  claims due events: commands first, then the owner's messages, then
//	                      other events; one event per session at a time, a limited number of
//	                      sessions in parallel, longest waiting session first
//	dispatch.Dispatcher   converts an event into an outcome: a command or a notice needs no model,
//	                      all other events are turns of an agent
//	commit.Committer      one transaction: the event is done, the transcript is extended, the answer
//	                      is in the outbox, the trace is written
//
// The sources in Options.Due put scheduled work (goal reviews, the daily plan, tasks that exceed
// their time limit) into the inbox. The loop handles this work like other events.
//
// Between events the loop sleeps until the tick, the next due time or a wake signal, whichever
// comes first, and makes no model call. It detects jumps of the wall clock (sleep, suspend, a
// manual change) by comparing wall time with monotonic time.
//
// A turn that waits for the owner uses no resources: its steps are stored, its event waits in the
// inbox, and the answer makes the event due again. /stop ends the running turn in its session
// within a second and does not affect other sessions. /steer passes the owner's words to the
// running turn, which reads them at its next step; if no turn is running, they are an ordinary
// message. When ctx ends, the loop stops claiming events, gives running turns a moment to finish
// and requeues the rest, which continue from their last step at the next start.
//
// The loop owns no connection and has no code for a specific channel, watcher or tool; the
// composition root passes them in. It contains no policy: the guard decides which calls may run,
// and the runner of turns decides what a turn does.
package autonomy
