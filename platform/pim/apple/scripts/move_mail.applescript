-- Moves a message to another folder. "archive" is the folder of that name in the
-- message's own account.
on main(request)
	my awake()
	with timeout of 50 seconds
		set theBox to my box(my textOf(request, "folder"))
		set wanted to my numberOf(request, "ident")
		set target to my textOf(request, "target")
		tell application id "com.apple.mail"
			set found to first message of theBox whose id is wanted
			if target is "archive" then
				set newBox to mailbox "Archive" of account of mailbox of found
			else
				set newBox to my box(target)
			end if
			my commence()
			move found to newBox
		end tell
	end timeout
	return {done:true}
end main
