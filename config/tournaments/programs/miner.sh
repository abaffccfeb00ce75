#!/bin/sh
read -r size
row=0 tavern=
while [ $row -lt "$size" ]; do
    read -r line
    before=${line%%T*}
    [ "$before" = "$line" ] || tavern="${#before} $row"
    row=$((row + 1))
done
read -r me

while read -r count; do
    mines= x=0 y=0 life=100
    while [ "$count" -gt 0 ]; do
        read -r kind owner column row health gold
        if [ "$kind" = HERO ]; then
            [ "$owner" = "$me" ] && x=$column y=$row life=$health
        elif [ "$owner" != "$me" ]; then
            mines="$mines $column,$row"
        fi
        count=$((count - 1))
    done
    best=9999 goal="$x $y"
    for mine in $mines; do
        right=$((${mine%,*} - x)) down=$((${mine#*,} - y))
        far=$((${right#-} + ${down#-}))
        [ $far -lt $best ] && best=$far goal="${mine%,*} ${mine#*,}"
    done
    [ "$life" -lt 40 ] && [ -n "$tavern" ] && goal=$tavern
    echo "MOVE $goal"
done
