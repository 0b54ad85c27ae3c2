! Small products by OpenBLAS' dgemm, after a trap from which on they are stepped through.
program dgemm_steps
 use, intrinsic :: iso_c_binding
 implicit none
 interface
  integer(c_int) function raise(signal) bind(c)
   import c_int
   integer(c_int), value :: signal
  end function
 end interface
 real(8) :: a(60,60), b(60,60), c(60,60)
 integer(c_int) :: ignored
 a = 1.5d0; b = 2.5d0
 call dgemm('N','T',8,8,8,1.0d0,a,60,b,60,0.0d0,c,60)
 ignored = raise(5_c_int)
 call dgemm('N','T',60,60,60,1.0d0,a,60,b,60,0.0d0,c,60)
 call dgemm('T','N',57,59,60,1.0d0,a,60,b,60,1.0d0,c,60)
 call dgetrf_small(c)
contains
 subroutine dgetrf_small(x)
  real(8), intent(inout) :: x(60,60)
  integer :: pivots(60), failed
  call dgetrf(60,60,x,60,pivots,failed)
 end subroutine
end program
