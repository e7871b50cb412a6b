;; vendor.openwop.rust-hello.greet, written by hand: {"name":"Ada"} among its inputs gives {"greeting":"Hello, Ada!"}.
;; The name is copied as it stands between its quotes, so that what was escaped stays so.
(module
  (memory (export "memory") 1 64)
  (global $heap (mut i32) (i32.const 4096))
  (data (i32.const 0) "vendor.openwop.rust-hello")
  (data (i32.const 32) "vendor.openwop.rust-hello.greet")
  (data (i32.const 64) "\"inputs\":")
  (data (i32.const 80) "\"name\":\"")
  (data (i32.const 96) "{\"outcome\":\"completed\",\"output\":{\"greeting\":\"Hello, ")
  (data (i32.const 160) "!\"}}")
  (data (i32.const 176) "{\"outcome\":\"failed\",\"error\":{\"code\":\"validation_error\",\"message\":\"the input name is no text\"}}")

  (func (export "openwop_abi_version") (result i32) (i32.const 1))
  (func (export "openwop_pack_name") (result i32 i32) (i32.const 0) (i32.const 25))
  (func (export "openwop_node_count") (result i32) (i32.const 1))
  (func (export "openwop_node_id_at") (param i32) (result i32 i32) (i32.const 32) (i32.const 31))

  ;; What was handed out is never taken back: an instance lives for one invocation.
  (func $alloc (export "openwop_alloc") (param $n i32) (result i32)
    (local $at i32) (local $end i32) (local $pages i32)
    (local.set $at (global.get $heap))
    (local.set $end (i32.add (local.get $at) (i32.and (i32.add (local.get $n) (i32.const 7)) (i32.const -8))))
    (if (i32.lt_u (local.get $end) (local.get $at)) (then (return (i32.const 0))))
    (local.set $pages (i32.sub (i32.shr_u (i32.add (local.get $end) (i32.const 65535)) (i32.const 16)) (memory.size)))
    (if (i32.gt_s (local.get $pages) (i32.const 0))
      (then (if (i32.eq (memory.grow (local.get $pages)) (i32.const -1)) (then (return (i32.const 0))))))
    (global.set $heap (local.get $end))
    (local.get $at))
  (func (export "openwop_free") (param i32 i32))

  ;; Where the text of $n bytes at $what ends in $from..$end, or 0.
  (func $after (param $from i32) (param $end i32) (param $what i32) (param $n i32) (result i32)
    (local $i i32)
    (loop $next
      (if (i32.gt_u (i32.add (local.get $from) (local.get $n)) (local.get $end)) (then (return (i32.const 0))))
      (local.set $i (i32.const 0))
      (block $other
        (loop $same
          (if (i32.eq (local.get $i) (local.get $n)) (then (return (i32.add (local.get $from) (local.get $n)))))
          (br_if $other (i32.ne (i32.load8_u (i32.add (local.get $from) (local.get $i)))
                                (i32.load8_u (i32.add (local.get $what) (local.get $i)))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $same)))
      (local.set $from (i32.add (local.get $from) (i32.const 1)))
      (br $next))
    (i32.const 0))

  (func $copy (param $to i32) (param $from i32) (param $n i32) (result i32)
    (memory.copy (local.get $to) (local.get $from) (local.get $n))
    (i32.add (local.get $to) (local.get $n)))

  (func (export "openwop_node_invoke") (param $type i32) (param $at i32) (param $n i32) (result i32 i32)
    (local $end i32) (local $name i32) (local $c i32) (local $out i32) (local $to i32)
    (local.set $end (i32.add (local.get $at) (local.get $n)))
    (local.set $at (call $after (local.get $at) (local.get $end) (i32.const 64) (i32.const 9)))
    (if (local.get $at)
      (then (local.set $name (call $after (local.get $at) (local.get $end) (i32.const 80) (i32.const 8)))))
    (if (i32.eqz (local.get $name)) (then (return (i32.const 176) (i32.const 94))))
    (local.set $at (local.get $name))
    (block $closed
      (loop $char
        (br_if $closed (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $c (i32.load8_u (local.get $at)))
        (br_if $closed (i32.eq (local.get $c) (i32.const 34)))
        (local.set $at (i32.add (local.get $at)
          (select (i32.const 2) (i32.const 1) (i32.eq (local.get $c) (i32.const 92)))))
        (br $char)))
    (local.set $out (call $alloc (i32.add (i32.sub (local.get $at) (local.get $name)) (i32.const 64))))
    (if (i32.eqz (local.get $out)) (then (unreachable)))
    (local.set $to (call $copy (local.get $out) (i32.const 96) (i32.const 52)))
    (local.set $to (call $copy (local.get $to) (local.get $name) (i32.sub (local.get $at) (local.get $name))))
    (local.set $to (call $copy (local.get $to) (i32.const 160) (i32.const 4)))
    (local.get $out) (i32.sub (local.get $to) (local.get $out))))
