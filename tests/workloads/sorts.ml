(*
 * sorts [SECONDS]: OCaml code that calls C again and again: the polymorphic compare, printf's conversions, Buffer
 * and Hashtbl
 *)
let rec deep n f = if n = 0 then f () else 1 + deep (n - 1) f

let () =
  let finish = Sys.time () +. (if Array.length Sys.argv > 1 then float_of_string Sys.argv.(1) else 3.0) in
  let sum = ref 0 in
  while Sys.time () < finish do
    let l = List.init 500 (fun i -> (i * 7919 mod 1009, string_of_int i)) in
    sum := !sum + List.length (List.sort compare l);
    let h = Hashtbl.create 16 in
    List.iter (fun (k, v) -> Hashtbl.replace h k (Printf.sprintf "%d %s %f" k v (float k))) l;
    sum := !sum + Hashtbl.length h + deep 100 (fun () -> Hashtbl.hash l)
  done;
  print_int !sum
