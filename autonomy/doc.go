// Package autonomy is the loop: observe, think, act.
//
//	channel / watcher / trigger / tool call
//	   -> Loop.Receive, Loop.Fire, Loop.Trigger, Loop.Call
//	        one row in the inbox; only then is the source acknowledged
//	   -> wake (or the next tick finds it)
//	observe.go  claims what is due: commands first, then what the owner said,
//	            then events; one event per session at a time, a limited number
//	            of sessions side by side, the one served longest ago first
//	think.go    turns an event into an answer: a command or a notice needs no
//	            model, everything else is a turn of the agent
//	act.go      one transaction: the event is done, the transcript grew, the
//	            answer is in the outbox, the trace is written
//
// What is due by itself (reviews of goals, the plan of the day, tasks that take
// too long) is put into the inbox by sources of its own, see Options.Due, and
// then handled like anything else (goal.go, plan.go).
//
// Between events the loop sleeps until the tick, the next due time or a wake
// signal, whichever comes first, and makes no model call. It notices jumps of
// the wall clock (sleep, suspend, a manual change) by comparing wall and
// monotonic time.
//
// A turn that waits for the owner holds nothing: its steps are stored, its
// event waits in the inbox, and the answer makes it due again. /stop ends the
// running turn of its session within a second and leaves the others alone.
// /steer hands the owner's words to the running turn, which takes them up at
// its next step; otherwise they are an ordinary message.
// When ctx ends the loop claims nothing more, gives running turns a moment,
// and puts the rest back; they go on from their last step at the next start.
//
// The loop owns no connection and knows no channel, watcher or tool by name;
// the composition root hands it what it needs. It contains no policy either:
// what may run is the guard's word, what a turn does is the agent's.
package autonomy
