/* A library with one function, whose frame has ROOM bytes: another one of another ROOM has each instruction at the
   same place.

   Design: `.rep.stack.walk` in design/replay.md. */
void enter(void (*leaf)(void))
{
    volatile char room[ROOM];
    room[0] = 1;
    leaf();
    room[1] = room[0];
}
