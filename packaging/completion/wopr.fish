# Completion of wopr in fish.  The program answers what there is.
function __wopr_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct | string collect --allow-empty)
    for line in ($words[1] completion words -- $words[2..-1] "$word" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path "$word"
            case :folders
                __fish_complete_directories "$word"
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c wopr -f -a '(__wopr_complete)'
