-- The heads of the newest messages of a folder, 25 for each round of Apple events,
-- until a limit or until time is up. Never "whose" over a whole folder: Mail is held
-- up by it (sweetrb/apple-mail-mcp#24, patrickfreyer/apple-mail-mcp#41).
on main(request)
	my awake()
	set most to my numberOf(request, "scan")
	set deadline to (current date) + (my numberOf(request, "seconds"))
	set rows to {}
	set cutShort to false
	with timeout of 50 seconds
		set theBox to my box(my textOf(request, "folder"))
		tell application id "com.apple.mail" to set total to count of messages of theBox
		set n1 to 1
		repeat while n1 is less than or equal to most and n1 is less than or equal to total
			if (current date) is greater than deadline then
				set cutShort to true
				exit repeat
			end if
			set n2 to n1 + 24
			if n2 is greater than total then set n2 to total
			if n2 is greater than most then set n2 to most
			tell application id "com.apple.mail"
				set theIds to id of messages n1 thru n2 of theBox
				set theKeys to message id of messages n1 thru n2 of theBox
				set theTopics to subject of messages n1 thru n2 of theBox
				set theSenders to sender of messages n1 thru n2 of theBox
				set theDates to date received of messages n1 thru n2 of theBox
				set theSeen to read status of messages n1 thru n2 of theBox
				set theFlags to flagged status of messages n1 thru n2 of theBox
			end tell
			repeat with i from 1 to count of theIds
				set end of rows to {ident:item i of theIds, mailKey:item i of theKeys, topic:item i of theTopics, fromWhom:item i of theSenders, receivedMs:my millis(item i of theDates), seenAlready:item i of theSeen, flagSet:item i of theFlags}
			end repeat
			set n1 to n2 + 1
		end repeat
	end timeout
	return {rows:rows, total:total, cutShort:cutShort}
end main
