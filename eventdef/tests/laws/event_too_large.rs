//! An event fits a block of any size.
#![recursion_limit = "1024"]

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    Snapshot(0x0001, always, Pool) {
        /// number 0
        w0: D,
        /// number 1
        w1: D,
        /// number 2
        w2: D,
        /// number 3
        w3: D,
        /// number 4
        w4: D,
        /// number 5
        w5: D,
        /// number 6
        w6: D,
        /// number 7
        w7: D,
        /// number 8
        w8: D,
        /// number 9
        w9: D,
        /// number 10
        w10: D,
        /// number 11
        w11: D,
        /// number 12
        w12: D,
        /// number 13
        w13: D,
        /// number 14
        w14: D,
        /// number 15
        w15: D,
        /// number 16
        w16: D,
        /// number 17
        w17: D,
        /// number 18
        w18: D,
        /// number 19
        w19: D,
        /// number 20
        w20: D,
        /// number 21
        w21: D,
        /// number 22
        w22: D,
        /// number 23
        w23: D,
        /// number 24
        w24: D,
        /// number 25
        w25: D,
        /// number 26
        w26: D,
        /// number 27
        w27: D,
        /// number 28
        w28: D,
        /// number 29
        w29: D,
        /// number 30
        w30: D,
        /// number 31
        w31: D,
        /// number 32
        w32: D,
        /// number 33
        w33: D,
        /// number 34
        w34: D,
        /// number 35
        w35: D,
        /// number 36
        w36: D,
        /// number 37
        w37: D,
        /// number 38
        w38: D,
        /// number 39
        w39: D,
        /// number 40
        w40: D,
        /// number 41
        w41: D,
        /// number 42
        w42: D,
        /// number 43
        w43: D,
        /// number 44
        w44: D,
        /// number 45
        w45: D,
        /// number 46
        w46: D,
        /// number 47
        w47: D,
        /// number 48
        w48: D,
        /// number 49
        w49: D,
        /// number 50
        w50: D,
        /// number 51
        w51: D,
        /// number 52
        w52: D,
        /// number 53
        w53: D,
        /// number 54
        w54: D,
        /// number 55
        w55: D,
        /// number 56
        w56: D,
        /// number 57
        w57: D,
        /// number 58
        w58: D,
        /// number 59
        w59: D,
        /// number 60
        w60: D,
        /// number 61
        w61: D,
        /// number 62
        w62: D,
        /// number 63
        w63: D,
        /// number 64
        w64: D,
        /// number 65
        w65: D,
        /// number 66
        w66: D,
        /// number 67
        w67: D,
        /// number 68
        w68: D,
        /// number 69
        w69: D,
        /// number 70
        w70: D,
        /// number 71
        w71: D,
        /// number 72
        w72: D,
        /// number 73
        w73: D,
        /// number 74
        w74: D,
        /// number 75
        w75: D,
        /// number 76
        w76: D,
        /// number 77
        w77: D,
        /// number 78
        w78: D,
        /// number 79
        w79: D,
        /// number 80
        w80: D,
        /// number 81
        w81: D,
        /// number 82
        w82: D,
        /// number 83
        w83: D,
        /// number 84
        w84: D,
        /// number 85
        w85: D,
        /// number 86
        w86: D,
        /// number 87
        w87: D,
        /// number 88
        w88: D,
        /// number 89
        w89: D,
        /// number 90
        w90: D,
        /// number 91
        w91: D,
        /// number 92
        w92: D,
        /// number 93
        w93: D,
        /// number 94
        w94: D,
        /// number 95
        w95: D,
        /// number 96
        w96: D,
        /// number 97
        w97: D,
        /// number 98
        w98: D,
        /// number 99
        w99: D,
        /// number 100
        w100: D,
        /// number 101
        w101: D,
        /// number 102
        w102: D,
        /// number 103
        w103: D,
        /// number 104
        w104: D,
        /// number 105
        w105: D,
        /// number 106
        w106: D,
        /// number 107
        w107: D,
        /// number 108
        w108: D,
        /// number 109
        w109: D,
        /// number 110
        w110: D,
        /// number 111
        w111: D,
        /// number 112
        w112: D,
        /// number 113
        w113: D,
        /// number 114
        w114: D,
        /// number 115
        w115: D,
        /// number 116
        w116: D,
        /// number 117
        w117: D,
        /// number 118
        w118: D,
        /// number 119
        w119: D,
        /// number 120
        w120: D,
        /// number 121
        w121: D,
        /// number 122
        w122: D,
        /// number 123
        w123: D,
        /// number 124
        w124: D,
        /// number 125
        w125: D,
        /// number 126
        w126: D,
        /// number 127
        w127: D,
        /// number 128
        w128: D,
        /// number 129
        w129: D,
        /// number 130
        w130: D,
        /// number 131
        w131: D,
        /// number 132
        w132: D,
        /// number 133
        w133: D,
        /// number 134
        w134: D,
        /// number 135
        w135: D,
        /// number 136
        w136: D,
        /// number 137
        w137: D,
        /// number 138
        w138: D,
        /// number 139
        w139: D,
        /// number 140
        w140: D,
        /// number 141
        w141: D,
        /// number 142
        w142: D,
        /// number 143
        w143: D,
        /// number 144
        w144: D,
        /// number 145
        w145: D,
        /// number 146
        w146: D,
        /// number 147
        w147: D,
        /// number 148
        w148: D,
        /// number 149
        w149: D,
        /// number 150
        w150: D,
        /// number 151
        w151: D,
        /// number 152
        w152: D,
        /// number 153
        w153: D,
        /// number 154
        w154: D,
        /// number 155
        w155: D,
        /// number 156
        w156: D,
        /// number 157
        w157: D,
        /// number 158
        w158: D,
        /// number 159
        w159: D,
        /// number 160
        w160: D,
        /// number 161
        w161: D,
        /// number 162
        w162: D,
        /// number 163
        w163: D,
        /// number 164
        w164: D,
        /// number 165
        w165: D,
        /// number 166
        w166: D,
        /// number 167
        w167: D,
        /// number 168
        w168: D,
        /// number 169
        w169: D,
        /// number 170
        w170: D,
        /// number 171
        w171: D,
        /// number 172
        w172: D,
        /// number 173
        w173: D,
        /// number 174
        w174: D,
        /// number 175
        w175: D,
        /// number 176
        w176: D,
        /// number 177
        w177: D,
        /// number 178
        w178: D,
        /// number 179
        w179: D,
        /// number 180
        w180: D,
        /// number 181
        w181: D,
        /// number 182
        w182: D,
        /// number 183
        w183: D,
        /// number 184
        w184: D,
        /// number 185
        w185: D,
        /// number 186
        w186: D,
        /// number 187
        w187: D,
        /// number 188
        w188: D,
        /// number 189
        w189: D,
        /// number 190
        w190: D,
        /// number 191
        w191: D,
        /// number 192
        w192: D,
        /// number 193
        w193: D,
        /// number 194
        w194: D,
        /// number 195
        w195: D,
        /// number 196
        w196: D,
        /// number 197
        w197: D,
        /// number 198
        w198: D,
        /// number 199
        w199: D,
        /// number 200
        w200: D,
        /// number 201
        w201: D,
        /// number 202
        w202: D,
        /// number 203
        w203: D,
        /// number 204
        w204: D,
        /// number 205
        w205: D,
        /// number 206
        w206: D,
        /// number 207
        w207: D,
        /// number 208
        w208: D,
        /// number 209
        w209: D,
        /// number 210
        w210: D,
        /// number 211
        w211: D,
        /// number 212
        w212: D,
        /// number 213
        w213: D,
        /// number 214
        w214: D,
        /// number 215
        w215: D,
        /// number 216
        w216: D,
        /// number 217
        w217: D,
        /// number 218
        w218: D,
        /// number 219
        w219: D,
        /// number 220
        w220: D,
        /// number 221
        w221: D,
        /// number 222
        w222: D,
        /// number 223
        w223: D,
        /// number 224
        w224: D,
        /// number 225
        w225: D,
        /// number 226
        w226: D,
        /// number 227
        w227: D,
        /// number 228
        w228: D,
        /// number 229
        w229: D,
        /// number 230
        w230: D,
        /// number 231
        w231: D,
        /// number 232
        w232: D,
        /// number 233
        w233: D,
        /// number 234
        w234: D,
        /// number 235
        w235: D,
        /// number 236
        w236: D,
        /// number 237
        w237: D,
        /// number 238
        w238: D,
        /// number 239
        w239: D,
        /// number 240
        w240: D,
        /// number 241
        w241: D,
        /// number 242
        w242: D,
        /// number 243
        w243: D,
        /// number 244
        w244: D,
        /// number 245
        w245: D,
        /// number 246
        w246: D,
        /// number 247
        w247: D,
        /// number 248
        w248: D,
        /// number 249
        w249: D,
        /// number 250
        w250: D,
        /// number 251
        w251: D,
        /// number 252
        w252: D,
        /// number 253
        w253: D,
        /// number 254
        w254: D,
        /// number 255
        w255: D,
        /// number 256
        w256: D,
        /// number 257
        w257: D,
        /// number 258
        w258: D,
        /// number 259
        w259: D,
        /// number 260
        w260: D,
        /// number 261
        w261: D,
        /// number 262
        w262: D,
        /// number 263
        w263: D,
        /// number 264
        w264: D,
        /// number 265
        w265: D,
        /// number 266
        w266: D,
        /// number 267
        w267: D,
        /// number 268
        w268: D,
        /// number 269
        w269: D,
        /// number 270
        w270: D,
        /// number 271
        w271: D,
        /// number 272
        w272: D,
        /// number 273
        w273: D,
        /// number 274
        w274: D,
        /// number 275
        w275: D,
        /// number 276
        w276: D,
        /// number 277
        w277: D,
        /// number 278
        w278: D,
        /// number 279
        w279: D,
        /// number 280
        w280: D,
        /// number 281
        w281: D,
        /// number 282
        w282: D,
        /// number 283
        w283: D,
        /// number 284
        w284: D,
        /// number 285
        w285: D,
        /// number 286
        w286: D,
        /// number 287
        w287: D,
        /// number 288
        w288: D,
        /// number 289
        w289: D,
        /// number 290
        w290: D,
        /// number 291
        w291: D,
        /// number 292
        w292: D,
        /// number 293
        w293: D,
        /// number 294
        w294: D,
        /// number 295
        w295: D,
        /// number 296
        w296: D,
        /// number 297
        w297: D,
        /// number 298
        w298: D,
        /// number 299
        w299: D,
        /// number 300
        w300: D,
        /// number 301
        w301: D,
        /// number 302
        w302: D,
        /// number 303
        w303: D,
        /// number 304
        w304: D,
        /// number 305
        w305: D,
        /// number 306
        w306: D,
        /// number 307
        w307: D,
        /// number 308
        w308: D,
        /// number 309
        w309: D,
        /// number 310
        w310: D,
        /// number 311
        w311: D,
        /// number 312
        w312: D,
        /// number 313
        w313: D,
        /// number 314
        w314: D,
        /// number 315
        w315: D,
        /// number 316
        w316: D,
        /// number 317
        w317: D,
        /// number 318
        w318: D,
        /// number 319
        w319: D,
        /// number 320
        w320: D,
        /// number 321
        w321: D,
        /// number 322
        w322: D,
        /// number 323
        w323: D,
        /// number 324
        w324: D,
        /// number 325
        w325: D,
        /// number 326
        w326: D,
        /// number 327
        w327: D,
        /// number 328
        w328: D,
        /// number 329
        w329: D,
        /// number 330
        w330: D,
        /// number 331
        w331: D,
        /// number 332
        w332: D,
        /// number 333
        w333: D,
        /// number 334
        w334: D,
        /// number 335
        w335: D,
        /// number 336
        w336: D,
        /// number 337
        w337: D,
        /// number 338
        w338: D,
        /// number 339
        w339: D,
        /// number 340
        w340: D,
        /// number 341
        w341: D,
        /// number 342
        w342: D,
        /// number 343
        w343: D,
        /// number 344
        w344: D,
        /// number 345
        w345: D,
        /// number 346
        w346: D,
        /// number 347
        w347: D,
        /// number 348
        w348: D,
        /// number 349
        w349: D,
        /// number 350
        w350: D,
        /// number 351
        w351: D,
        /// number 352
        w352: D,
        /// number 353
        w353: D,
        /// number 354
        w354: D,
        /// number 355
        w355: D,
        /// number 356
        w356: D,
        /// number 357
        w357: D,
        /// number 358
        w358: D,
        /// number 359
        w359: D,
        /// number 360
        w360: D,
        /// number 361
        w361: D,
        /// number 362
        w362: D,
        /// number 363
        w363: D,
        /// number 364
        w364: D,
        /// number 365
        w365: D,
        /// number 366
        w366: D,
        /// number 367
        w367: D,
        /// number 368
        w368: D,
        /// number 369
        w369: D,
        /// number 370
        w370: D,
        /// number 371
        w371: D,
        /// number 372
        w372: D,
        /// number 373
        w373: D,
        /// number 374
        w374: D,
        /// number 375
        w375: D,
        /// number 376
        w376: D,
        /// number 377
        w377: D,
        /// number 378
        w378: D,
        /// number 379
        w379: D,
        /// number 380
        w380: D,
        /// number 381
        w381: D,
        /// number 382
        w382: D,
        /// number 383
        w383: D,
        /// number 384
        w384: D,
        /// number 385
        w385: D,
        /// number 386
        w386: D,
        /// number 387
        w387: D,
        /// number 388
        w388: D,
        /// number 389
        w389: D,
        /// number 390
        w390: D,
        /// number 391
        w391: D,
        /// number 392
        w392: D,
        /// number 393
        w393: D,
        /// number 394
        w394: D,
        /// number 395
        w395: D,
        /// number 396
        w396: D,
        /// number 397
        w397: D,
        /// number 398
        w398: D,
        /// number 399
        w399: D,
        /// number 400
        w400: D,
        /// number 401
        w401: D,
        /// number 402
        w402: D,
        /// number 403
        w403: D,
        /// number 404
        w404: D,
        /// number 405
        w405: D,
        /// number 406
        w406: D,
        /// number 407
        w407: D,
        /// number 408
        w408: D,
        /// number 409
        w409: D,
        /// number 410
        w410: D,
        /// number 411
        w411: D,
        /// number 412
        w412: D,
        /// number 413
        w413: D,
        /// number 414
        w414: D,
        /// number 415
        w415: D,
        /// number 416
        w416: D,
        /// number 417
        w417: D,
        /// number 418
        w418: D,
        /// number 419
        w419: D,
        /// number 420
        w420: D,
        /// number 421
        w421: D,
        /// number 422
        w422: D,
        /// number 423
        w423: D,
        /// number 424
        w424: D,
        /// number 425
        w425: D,
        /// number 426
        w426: D,
        /// number 427
        w427: D,
        /// number 428
        w428: D,
        /// number 429
        w429: D,
        /// number 430
        w430: D,
        /// number 431
        w431: D,
        /// number 432
        w432: D,
        /// number 433
        w433: D,
        /// number 434
        w434: D,
        /// number 435
        w435: D,
        /// number 436
        w436: D,
        /// number 437
        w437: D,
        /// number 438
        w438: D,
        /// number 439
        w439: D,
        /// number 440
        w440: D,
        /// number 441
        w441: D,
        /// number 442
        w442: D,
        /// number 443
        w443: D,
        /// number 444
        w444: D,
        /// number 445
        w445: D,
        /// number 446
        w446: D,
        /// number 447
        w447: D,
        /// number 448
        w448: D,
        /// number 449
        w449: D,
        /// number 450
        w450: D,
        /// number 451
        w451: D,
        /// number 452
        w452: D,
        /// number 453
        w453: D,
        /// number 454
        w454: D,
        /// number 455
        w455: D,
        /// number 456
        w456: D,
        /// number 457
        w457: D,
        /// number 458
        w458: D,
        /// number 459
        w459: D,
        /// number 460
        w460: D,
        /// number 461
        w461: D,
        /// number 462
        w462: D,
        /// number 463
        w463: D,
        /// number 464
        w464: D,
        /// number 465
        w465: D,
        /// number 466
        w466: D,
        /// number 467
        w467: D,
        /// number 468
        w468: D,
        /// number 469
        w469: D,
        /// number 470
        w470: D,
        /// number 471
        w471: D,
        /// number 472
        w472: D,
        /// number 473
        w473: D,
        /// number 474
        w474: D,
        /// number 475
        w475: D,
        /// number 476
        w476: D,
        /// number 477
        w477: D,
        /// number 478
        w478: D,
        /// number 479
        w479: D,
        /// number 480
        w480: D,
        /// number 481
        w481: D,
        /// number 482
        w482: D,
        /// number 483
        w483: D,
        /// number 484
        w484: D,
        /// number 485
        w485: D,
        /// number 486
        w486: D,
        /// number 487
        w487: D,
        /// number 488
        w488: D,
        /// number 489
        w489: D,
        /// number 490
        w490: D,
        /// number 491
        w491: D,
        /// number 492
        w492: D,
        /// number 493
        w493: D,
        /// number 494
        w494: D,
        /// number 495
        w495: D,
    }
}

fn main() {}
